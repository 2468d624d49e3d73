// cove-tls HOST PORT: forwards the bytes of standard input, a socket, over TLS to a server and back. `cove` starts it
// for COVE_HOST=https://…, so that `cove` does not link libraries that only remote use needs. Protocol:
// docs/formats/tls-helper.md.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace cove {
namespace {

constexpr int kCaller = STDIN_FILENO;
constexpr size_t kPortion = 64 * 1024;
constexpr timeval kTimeout = {20, 0};  // for connecting and for each step of the handshake

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Context = std::unique_ptr<SSL_CTX, Free>;
using Session = std::unique_ptr<SSL, Free>;

std::string openssl_error() {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  return reason == nullptr ? "unknown error" : reason;
}

Result<UniqueFd> connect_to(const addrinfo& place, const std::string& server) {
  UniqueFd socket(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
  if (::connect(socket.get(), place.ai_addr, place.ai_addrlen) == 0) return socket;
  const int errnum = errno == EINPROGRESS ? ETIMEDOUT : errno;
  return fail(Error::from_errno(errnum, concat("connect to the server at ", server)).as(Code::Unavailable));
}

// Connects to the first of the host's addresses that accepts.
Result<UniqueFd> connect_by_name(const std::string& host, const std::string& port, const std::string& server) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (int status = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); status != 0)
    return fail(Code::Unavailable, concat("look up the server's name ", host, ": ", ::gai_strerror(status)));
  std::unique_ptr<addrinfo, Free> list(found);
  Result<UniqueFd> socket = fail(Code::Unavailable, concat("the name ", host, " has no address"));
  for (const addrinfo* place = found; place != nullptr && !socket; place = place->ai_next)
    socket = connect_to(*place, server);
  return socket;
}

// Trusts the system's authorities, or only those of a file.
Result<Context> make_context() {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(Code::Internal, concat("start TLS: ", openssl_error()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const char* file = std::getenv("COVE_CACERT");
  if (file == nullptr || *file == '\0') {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), file) != 1) {
    return fail(Error(Code::Invalid, concat("COVE_CACERT: read certificates of ", file, ": ", openssl_error()))
                    .hint("set it to a file with certificates in PEM format"));
  }
  return context;
}

// The certificate must be for this name, or for this address where the host is written in numbers; a zone is no part of
// it.
Result<Session> make_session(SSL_CTX* context, int socket, const std::string& place) {
  const std::string host = place.substr(0, place.find('%'));
  Session session(SSL_new(context));
  if (!session || SSL_set_fd(session.get(), socket) != 1)
    return fail(Code::Internal, concat("start TLS: ", openssl_error()));
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str()) == 1) return session;
  SSL_set_hostflags(session.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(session.get(), host.c_str()) != 1 || SSL_set_tlsext_host_name(session.get(), host.c_str()) != 1)
    return fail(Code::Invalid, concat("'", host, "' is not a valid host name"));
  return session;
}

Error not_trusted(long verdict, const std::string& server) {
  Error error(Code::Denied, concat("the certificate of the server at ", server,
                                   " is not accepted: ", X509_verify_cert_error_string(verdict)));
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
    return std::move(error).hint("use a name from the server's certificate in COVE_HOST");
  return std::move(error).hint("set COVE_CACERT to a file with the certificate of a private authority, in PEM format");
}

Result<void> handshake(SSL* session, const std::string& server) {
  ERR_clear_error();
  if (SSL_connect(session) == 1) return {};
  if (long verdict = SSL_get_verify_result(session); verdict != X509_V_OK) return fail(not_trusted(verdict, server));
  const unsigned long code = ERR_peek_error();
  if (code == 0) return fail(Code::Unavailable, concat("the server at ", server, " ended the TLS handshake"));
  Error error(Code::Unavailable, concat("TLS handshake with the server at ", server, ": ", openssl_error()));
  if (ERR_GET_REASON(code) != SSL_R_WRONG_VERSION_NUMBER) return fail(std::move(error));
  return fail(std::move(error).hint("check that the port uses TLS"));
}

// Forwards bytes between the caller and the server, until both have ended or one is gone. An end is passed on as one.
class Relay {
 public:
  Relay(SSL* session, int socket) : session_(session), socket_(socket) {}

  void run() {
    while (!over_ && !(caller_ended_ && server_ended_ && down_.empty())) {
      wanted_ = 0;
      bool moved = false;
      for (bool (Relay::*step)() : {&Relay::take, &Relay::send, &Relay::receive, &Relay::give})
        moved = (this->*step)() || moved;
      if (!moved && !over_) wait();
    }
    if (!caller_ended_) SSL_shutdown(session_);
  }

 private:
  // From the caller. Whether it has closed or only sends no more shows when it is sent something.
  bool take() {
    if (!up_.empty() || caller_ended_) return false;
    up_.resize(kPortion);
    ssize_t count = ::recv(kCaller, up_.data(), up_.size(), MSG_DONTWAIT);
    const bool waits = count < 0 && (errno == EAGAIN || errno == EINTR);
    up_.resize(count > 0 ? static_cast<size_t>(count) : 0);
    if (count < 0 && !waits) over_ = true;
    if (count == 0) end_sending();
    return count > 0;
  }

  // Also at TCP level: there a server that sends notices it without reading.
  void end_sending() {
    caller_ended_ = true;
    SSL_shutdown(session_);
    ::shutdown(socket_, SHUT_WR);
  }

  bool send() {
    size_t count = 0;
    if (up_.empty() || over_) return false;
    if (!check(SSL_write_ex(session_, up_.data(), up_.size(), &count))) return false;
    up_.erase(0, count);
    return true;
  }

  bool receive() {
    if (!down_.empty() || over_ || server_ended_) return false;
    down_.resize(kPortion);
    size_t count = 0;
    const bool came = check(SSL_read_ex(session_, down_.data(), down_.size(), &count));
    down_.resize(came ? count : 0);
    return came;
  }

  bool give() {
    if (down_.empty()) return false;
    ssize_t count = ::send(kCaller, down_.data(), down_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) over_ = true;
    if (count > 0) down_.erase(0, static_cast<size_t>(count));
    return count > 0;
  }

  bool check(int result) {
    if (result == 1) return true;
    const int error = SSL_get_error(session_, result);
    if (error == SSL_ERROR_WANT_READ)
      wanted_ |= POLLIN;
    else if (error == SSL_ERROR_WANT_WRITE)
      wanted_ |= POLLOUT;
    else if (error == SSL_ERROR_ZERO_RETURN)
      server_ended_ = ::shutdown(kCaller, SHUT_WR) == 0;
    else
      over_ = true;
    ERR_clear_error();
    return false;
  }

  void wait() const {
    const int caller = (up_.empty() && !caller_ended_ ? POLLIN : 0) | (down_.empty() ? 0 : POLLOUT);
    pollfd polled[2] = {{caller != 0 ? kCaller : -1, static_cast<short>(caller), 0},
                        {wanted_ != 0 ? socket_ : -1, wanted_, 0}};
    ::poll(polled, 2, -1);
  }

  SSL* session_;
  int socket_;
  std::string up_, down_;
  short wanted_ = 0;  // events of the socket that TLS waits for
  bool caller_ended_ = false;
  bool server_ended_ = false;
  bool over_ = false;
};

Result<void> serve(const std::string& host, const std::string& port) {
  const std::string server = concat(host, ":", port);
  Context context = COVE_TRY(make_context());
  UniqueFd socket = COVE_TRY(connect_by_name(host, port, server));
  Session session = COVE_TRY(make_session(context.get(), socket.get(), host));
  COVE_TRY(handshake(session.get(), server));
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  if (::send(kCaller, "+", 1, MSG_NOSIGNAL) != 1) return {};
  Relay(session.get(), socket.get()).run();
  return {};
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  if (argc != 3) return 1;
  cove::Result<void> served = cove::serve(argv[1], argv[2]);
  if (served) return 0;
  const cove::Error& error = served.error();
  std::string text = cove::concat("-", static_cast<int>(error.code()), "\n", error.message(), "\n", error.hint());
  ::send(cove::kCaller, text.data(), text.size(), MSG_NOSIGNAL);
  return 1;
}
