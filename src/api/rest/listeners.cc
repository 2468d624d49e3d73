#include "api/rest/listeners.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"

namespace cove::api {
namespace {

constexpr int kFirstOfSystemd = 3;
constexpr int kMostOfSystemd = 64;
constexpr unsigned kSocketMode = 0600;

struct Address {
  sockaddr_storage storage = {};
  const sockaddr_in& four() const { return reinterpret_cast<const sockaddr_in&>(storage); }
  const sockaddr_in6& six() const { return reinterpret_cast<const sockaddr_in6&>(storage); }
  const sockaddr_un& local() const { return reinterpret_cast<const sockaddr_un&>(storage); }
};

Result<Address> address_of(int socket) {
  Address address;
  socklen_t size = sizeof address.storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &size) < 0)
    return fail_errno(concat("getsockname of descriptor ", socket));
  return address;
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  switch (address.storage.ss_family) {
    case AF_INET:
      ::inet_ntop(AF_INET, &address.four().sin_addr, text, sizeof text);
      return concat("tcp:", std::string_view(text), ":", ntohs(address.four().sin_port));
    case AF_INET6:
      ::inet_ntop(AF_INET6, &address.six().sin6_addr, text, sizeof text);
      return concat("tcp:[", std::string_view(text), "]:", ntohs(address.six().sin6_port));
    default:
      return concat("unix:", std::string_view(address.local().sun_path));
  }
}

bool is_loopback(const Address& address) {
  constexpr uint32_t kLoopback = 127;
  if (address.storage.ss_family == AF_INET) return ntohl(address.four().sin_addr.s_addr) >> 24 == kLoopback;
  if (address.storage.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&address.six().sin6_addr);
  return true;
}

Result<ListeningSocket> described(UniqueFd fd) {
  Address address = COVE_TRY(address_of(fd.get()));
  ListeningSocket socket;
  socket.face = address.storage.ss_family == AF_UNIX ? Face::Local : Face::Tcp;
  socket.address = text_of(address);
  socket.fd = std::move(fd);
  return socket;
}

Result<ListeningSocket> open_socket(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::Tcp)
    return described(COVE_TRY(http::listen_tcp(address.host, address.port)));
  size_t slash = address.path.rfind('/');
  if (slash > 0) COVE_TRY(sys::make_folders(address.path.substr(0, slash), 0700));
  ListeningSocket socket = COVE_TRY(described(COVE_TRY(http::listen_unix_stream(address.path, kSocketMode))));
  socket.path = address.path;
  return socket;
}

uint16_t port_of(const Address& address) {
  return ntohs(address.storage.ss_family == AF_INET6 ? address.six().sin6_port : address.four().sin_port);
}

// Where it cannot be remembered, links of before do not work any more, and that is all.
Result<UniqueFd> open_preview_socket(const ListenAddress& address, const Config& config) {
  if (address.port != 0) return http::listen_tcp(address.host, address.port);
  const std::string memory = concat(config.server_folder, "/preview-port");
  Result<std::string> text = sys::read_file(memory);
  Result<int64_t> last = text ? parse_integer(trim(*text), 1024, UINT16_MAX) : fail(Code::NotFound, "");
  if (last)
    if (auto again = http::listen_tcp(address.host, static_cast<uint16_t>(*last))) return again;
  UniqueFd fd = COVE_TRY(http::listen_tcp(address.host, 0));
  static_cast<void>(sys::write_file(memory, concat(port_of(COVE_TRY(address_of(fd.get()))), "\n")));
  return fd;
}

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  auto number = text ? parse_integer(text, 0, INT32_MAX) : fail(Code::NotFound, "");
  return number ? static_cast<int>(*number) : 0;
}

}  // namespace

Result<ListeningSocket> inherit_socket(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || listens == 0)
    return fail(Code::Invalid, concat("descriptor ", fd, " is no listening socket"));
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  COVE_TRY(sys::set_nonblocking(fd));
  return described(UniqueFd(fd));
}

Result<std::vector<ListeningSocket>> inherit_from_systemd() {
  std::vector<ListeningSocket> sockets;
  if (number_of("LISTEN_PID") != ::getpid()) return sockets;
  int count = std::min(number_of("LISTEN_FDS"), kMostOfSystemd);
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  for (int fd = kFirstOfSystemd; fd < kFirstOfSystemd + count; ++fd)
    sockets.push_back(COVE_TRY_NOTE("socket activation", inherit_socket(fd)));
  return sockets;
}

Result<std::vector<ListeningSocket>> open_sockets(const Config& config, Face face) {
  ListenAddress::Kind kind = face == Face::Local ? ListenAddress::Kind::Unix : ListenAddress::Kind::Tcp;
  std::vector<ListeningSocket> sockets;
  for (const ListenAddress& address : config.listen)
    if (address.kind == kind)
      sockets.push_back(COVE_TRY_NOTE(concat("listen at ", to_text(address)), open_socket(address)));
  return sockets;
}

Result<std::vector<ListeningSocket>> open_preview_sockets(const std::vector<ListeningSocket>& sockets,
                                                          const Config& config) {
  std::vector<ListeningSocket> opened;
  const bool has_tcp = std::ranges::any_of(sockets, [](const ListeningSocket& one) { return one.face == Face::Tcp; });
  if (has_tcp && !config.sources.contains("preview.listen")) return opened;
  for (const ListenAddress& address : config.preview.listen) {
    UniqueFd fd =
        COVE_TRY_NOTE(concat("listen for previews at ", to_text(address)), open_preview_socket(address, config));
    opened.push_back(COVE_TRY(described(std::move(fd))));
    opened.back().face = Face::Preview;
  }
  return opened;
}

Result<PreviewSite> reached_site(const std::vector<ListeningSocket>& sockets, const Config& config) {
  PreviewSite site = config.preview.site;
  auto found = std::ranges::find(sockets, Face::Preview, &ListeningSocket::face);
  if (found == sockets.end()) found = std::ranges::find(sockets, Face::Tcp, &ListeningSocket::face);
  if (found == sockets.end() || site.reachable()) return site;
  site.scheme = config.tls_cert.empty() ? "http" : "https";
  site.port = port_of(COVE_TRY(address_of(found->fd.get())));
  return site;
}

Result<void> check_exposure(const ListeningSocket& socket, const Config& config) {
  if (socket.face == Face::Local || config.allow_insecure || !config.tls_cert.empty()) return {};
  if (is_loopback(COVE_TRY(address_of(socket.fd.get())))) return {};
  return fail(Error(Code::Denied, concat(socket.address,
                                         " can be reached from other machines, and without TLS keys and "
                                         "data would go in the clear"))
                  .hint("set tls_cert and tls_key, or allow_insecure where something in front of it encrypts"));
}

}  // namespace cove::api
