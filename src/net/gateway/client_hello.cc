#include "net/gateway/client_hello.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace cove::net {
namespace {

constexpr unsigned kEncryptedHello = 0xfe0d;

// The host name of the extension: a list with one entry, of the type host_name. False where it is anything else, which
// servers read in different ways.
bool read_name(SSL* session, std::string& name) {
  const unsigned char* data = nullptr;
  size_t size = 0;
  if (SSL_client_hello_get0_ext(session, TLSEXT_TYPE_server_name, &data, &size) != 1) return true;
  constexpr size_t kHead = 5;  // length of the list, type, length of the name
  auto number = [&](size_t at) { return static_cast<size_t>(data[at]) << 8 | data[at + 1]; };
  if (size <= kHead || number(0) != size - 2 || data[2] != TLSEXT_NAMETYPE_host_name || number(3) != size - kHead)
    return false;
  name.assign(reinterpret_cast<const char*>(data) + kHead, size - kHead);
  return true;
}

bool has_extension(SSL* session, unsigned type) {
  const unsigned char* data = nullptr;
  size_t size = 0;
  return SSL_client_hello_get0_ext(session, type, &data, &size) == 1;
}

}  // namespace

const std::string_view kAccessDenied("\x15\x03\x01\x00\x02\x02\x31", 7);

HelloParser::HelloParser(SSL_CTX* context) : context_(context, SSL_CTX_free) {}

Result<HelloParser> HelloParser::create() {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (!context) return fail(Code::Internal, "SSL_CTX_new");
  HelloParser parser(context);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // OpenSSL shows the extensions that it knows only.
  auto accept = [](SSL*, unsigned, unsigned, const unsigned char*, size_t, X509*, size_t, int*, void*) { return 1; };
  if (SSL_CTX_add_custom_ext(context, kEncryptedHello, SSL_EXT_CLIENT_HELLO, nullptr, nullptr, nullptr, accept,
                             nullptr) != 1)
    return fail(Code::Internal, "SSL_CTX_add_custom_ext");
  auto read = [](SSL* session, int*, void*) {
    auto* reader = static_cast<HelloReader*>(SSL_get_app_data(session));
    reader->hello_.encrypted = has_extension(session, kEncryptedHello);
    reader->complete_ = read_name(session, reader->hello_.name);
    return SSL_CLIENT_HELLO_ERROR;
  };
  SSL_CTX_set_client_hello_cb(context, read, nullptr);
  return parser;
}

HelloReader::HelloReader(const HelloParser& parser) : session_(SSL_new(parser.context())) {
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (!session_ || !in || !out) std::abort();  // out of memory
  SSL_set_bio(session_, in, out);
  SSL_set_app_data(session_, this);
  SSL_set_accept_state(session_);
}

HelloReader::~HelloReader() { SSL_free(session_); }

HelloReader::State HelloReader::add(std::string_view bytes) {
  size_ += bytes.size();
  if (size_ > kMost) return State::Broken;
  if (BIO_write(SSL_get_rbio(session_), bytes.data(), static_cast<int>(bytes.size())) < 0) return State::Broken;
  ERR_clear_error();
  int status = SSL_do_handshake(session_);
  if (complete_) return State::Complete;
  bool waits = status <= 0 && SSL_get_error(session_, status) == SSL_ERROR_WANT_READ;
  ERR_clear_error();
  return waits ? State::NeedsMore : State::Broken;
}

}  // namespace cove::net
