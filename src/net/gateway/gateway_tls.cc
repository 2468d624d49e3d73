#include "net/gateway/gateway_tls.h"

#include <openssl/pem.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "net/gateway/leaf.h"

namespace cove::net {
namespace {

// Where systems have all their authorities in one file.
constexpr const char* kStores[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                   "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

constexpr unsigned char kProtocols[] = "\x08http/1.1";
constexpr unsigned kProtocolsSize = sizeof kProtocols - 1;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A client that offers protocols without ours is told so at once (no_application_protocol).
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
  unsigned char* chosen = nullptr;
  int result = SSL_select_next_proto(&chosen, out_size, kProtocols, kProtocolsSize, in, in_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// The certificate was chosen before: it says which name may be asked for.
int check_name(SSL* session, int* alert, void*) {
  const char* asked = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
  if (asked == nullptr) return SSL_TLSEXT_ERR_OK;
  std::string_view name(asked);
  if (name.ends_with('.')) name.remove_suffix(1);
  if (X509_check_host(SSL_get_certificate(session), name.data(), name.size(), 0, nullptr) == 1)
    return SSL_TLSEXT_ERR_OK;
  *alert = SSL_AD_ACCESS_DENIED;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

Result<TlsContext> make_client_context() {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail_openssl("start TLS");
  set_rules(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, kProtocolsSize);
  return context;
}

Result<TlsContext> make_server_context() {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return fail_openssl("start TLS");
  set_rules(context.get());
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  SSL_CTX_set_tlsext_servername_callback(context.get(), check_name);
  return context;
}

void load_host_store(SSL_CTX* context) {
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && SSL_CTX_load_verify_file(context, file) == 1)
    return;
  for (const char* file : kStores)
    if (::access(file, R_OK) == 0 && SSL_CTX_load_verify_file(context, file) == 1) return;
}

class OpensslTls final : public GatewayTls {
 public:
  OpensslTls(TlsContext client, TlsContext server, Leaves leaves)
      : client_(std::move(client)), server_(std::move(server)), leaves_(std::move(leaves)) {}

  Result<void> trust(const std::string& certificates) override {
    Bio text(BIO_new_mem_buf(certificates.data(), static_cast<int>(certificates.size())));
    size_t count = 0;
    while (Certificate each{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(client_.get()), each.get());
      ++count;
    }
    ERR_clear_error();
    if (count == 0) return fail(Code::Invalid, "upstream_ca: it has no certificate in PEM format");
    return {};
  }

  Result<TlsSession> new_client(const std::string& name) override {
    ERR_clear_error();
    TlsSession session(SSL_new(client_.get()));
    if (!session) return fail_openssl("start TLS");
    SSL_set_hostflags(session.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(session.get(), name.c_str()) != 1 || SSL_set_tlsext_host_name(session.get(), name.c_str()) != 1)
      return fail_openssl(concat("start TLS to ", name));
    SSL_set_connect_state(session.get());
    return session;
  }

  Result<TlsSession> new_server(const std::string& name, const EffectivePolicy& policy) override {
    ERR_clear_error();
    X509* leaf = COVE_TRY(leaves_.leaf(name, policy, now_ms()));
    TlsSession session(SSL_new(server_.get()));
    if (!session || SSL_use_certificate(session.get(), leaf) != 1 ||
        SSL_use_PrivateKey(session.get(), leaves_.key()) != 1)
      return fail_openssl("start TLS inside");
    SSL_set_accept_state(session.get());
    return session;
  }

 private:
  TlsContext client_, server_;
  Leaves leaves_;
};

}  // namespace

Result<std::unique_ptr<GatewayTls>> GatewayTls::create() {
  TlsContext client = COVE_TRY(make_client_context()), server = COVE_TRY(make_server_context());
  load_host_store(client.get());
  ERR_clear_error();
  return std::make_unique<OpensslTls>(std::move(client), std::move(server), COVE_TRY(Leaves::create()));
}

}  // namespace cove::net
