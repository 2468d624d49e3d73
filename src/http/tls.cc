#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/text.h"
#include "http/server.h"

namespace cove::http {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, Free>;
using Session = std::unique_ptr<SSL, Free>;

constexpr size_t kRecord = 16 * 1024;  // what one TLS record holds

// The oldest error of this thread, and all are forgotten.
std::string openssl_error() {
  char text[256] = "unknown error";
  if (auto code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

class TlsStream final : public Stream {
 public:
  TlsStream(UniqueFd socket, Session session) : Stream(std::move(socket)), session_(std::move(session)) {}
  bool plain() const override { return false; }
  bool holds_bytes() const override { return SSL_pending(session_.get()) > 0; }

  Result<void> handshake(milliseconds patience) override {
    auto deadline = deadline_in(patience);
    for (;;) {
      ERR_clear_error();
      int result = SSL_accept(session_.get());
      if (result == 1) return {};
      Attempt attempt = COVE_TRY(explain(result, "TLS handshake"));
      if (!attempt.blocked) return fail(Code::Unavailable, "the peer went in the TLS handshake");
      if (!poll_for(socket(), attempt.blocked, deadline))
        return fail(Code::Unavailable, "the TLS handshake takes too long");
    }
  }

  Result<Attempt> try_read(std::span<char> buffer) override {
    if (is_cut()) return fail(Code::Unavailable, "the connection was cut");
    ERR_clear_error();
    size_t count = 0;
    int result = SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &count);
    if (result == 1) return Attempt{.bytes = count};
    return explain(result, "TLS read");
  }

  Result<Attempt> try_write(std::span<const iovec> pieces, More) override {
    if (is_cut()) return fail(Code::Unavailable, "the connection was cut");
    std::string_view data = gather(pieces);
    ERR_clear_error();
    size_t count = 0;
    int result = SSL_write_ex(session_.get(), data.data(), data.size(), &count);
    if (result == 1) return Attempt{.bytes = count};
    Attempt attempt = COVE_TRY(explain(result, "TLS write"));
    if (!attempt.blocked) return fail(Code::Unavailable, "the peer has ended the connection");
    return attempt;
  }

  void finish() override {
    ERR_clear_error();
    if (!broken_) SSL_shutdown(session_.get());
    Stream::finish();
  }

 private:
  // Small pieces go into one record. The same pieces always make the same bytes: OpenSSL wants them again after it was
  // blocked.
  std::string_view gather(std::span<const iovec> pieces) {
    auto& first = pieces.front();
    if (pieces.size() == 1 || first.iov_len >= kRecord) return {static_cast<char*>(first.iov_base), first.iov_len};
    record_.clear();
    for (auto& piece : pieces)
      record_.append(static_cast<char*>(piece.iov_base), std::min(piece.iov_len, kRecord - record_.size()));
    return record_;
  }

  Result<Attempt> explain(int result, const char* call) {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return Attempt{.blocked = POLLIN};
      case SSL_ERROR_WANT_WRITE:
        return Attempt{.blocked = POLLOUT};
      case SSL_ERROR_ZERO_RETURN:
        return Attempt{};
      default:
        broken_ = true;
        return fail(Code::Unavailable, concat(call, ": ", openssl_error()));
    }
  }

  Session session_;
  std::string record_;
  bool broken_ = false;
};

// We speak one protocol; a client that offers others is told so.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
  static const unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  int result = SSL_select_next_proto(&chosen, out_size, kOurs, sizeof kOurs - 1, in, in_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

class OpensslContext final : public TlsContext {
 public:
  explicit OpensslContext(Context context) : context_(std::move(context)) {}

  Result<std::unique_ptr<Stream>> wrap(UniqueFd socket) override {
    ERR_clear_error();
    Session session(SSL_new(context_.get()));
    if (!session || SSL_set_fd(session.get(), socket.get()) != 1)
      return fail(Code::Internal, concat("a TLS session: ", openssl_error()));
    return std::make_unique<TlsStream>(std::move(socket), std::move(session));
  }

 private:
  Context context_;
};

// A key with a passphrase is an error, not a question at the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::create(const Tls& files) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context) return fail(Code::Internal, concat("a TLS context: ", openssl_error()));
  set_rules(context.get());
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
    return fail(Code::Invalid, concat("the certificate ", files.certificate, ": ", openssl_error()));
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Code::Invalid, concat("the key ", files.key, ": ", openssl_error()));
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return fail(Code::Invalid, concat("the key ", files.key, " is not the certificate's"));
  return std::make_unique<OpensslContext>(std::move(context));
}

}  // namespace cove::http
