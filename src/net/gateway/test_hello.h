#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

// ClientHello messages for tests.
namespace cove::net::testing {

// The ClientHello that OpenSSL sends.
inline std::string hello_for(const char* name, int padding = 0) {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  struct Padding {
    std::string bytes;
  } extra{std::string(static_cast<size_t>(padding), 'p')};
  auto add = [](SSL*, unsigned, unsigned, const unsigned char** out, size_t* size, X509*, size_t, int*, void* from) {
    auto& bytes = static_cast<Padding*>(from)->bytes;
    *out = reinterpret_cast<const unsigned char*>(bytes.data());
    *size = bytes.size();
    return 1;
  };
  if (padding > 0)
    SSL_CTX_add_custom_ext(context.get(), 0xfff0, SSL_EXT_CLIENT_HELLO, add, nullptr, &extra, nullptr, nullptr);
  std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context.get()), SSL_free);
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  if (name) SSL_set_tlsext_host_name(session.get(), name);
  SSL_connect(session.get());
  std::string bytes(256 * 1024, '\0');
  int size = BIO_read(SSL_get_wbio(session.get()), bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return bytes;
}

// The same message with one more extension, in front of the others.
inline std::string with_extension(std::string hello, unsigned type, std::string_view content) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(hello[i]); };
  auto add16 = [&](size_t i, size_t more) {
    size_t value = (at(i) << 8 | at(i + 1)) + more;
    hello[i] = static_cast<char>(value >> 8), hello[i + 1] = static_cast<char>(value);
  };
  size_t position = 5 + 4 + 2 + 32;
  position += 1 + at(position);                                               // session
  position += 2 + static_cast<size_t>(at(position) << 8 | at(position + 1));  // ciphers
  position += 1 + at(position);                                               // compression
  std::string extension = {static_cast<char>(type >> 8), static_cast<char>(type),
                           static_cast<char>(content.size() >> 8), static_cast<char>(content.size())};
  extension += content;
  add16(position, extension.size());
  add16(3, extension.size());
  add16(7, extension.size());
  hello.insert(position + 2, extension);
  return hello;
}

// One handshake message in records of that size.
inline std::string in_records(const std::string& hello, size_t size) {
  std::string out, message = hello.substr(5);
  for (size_t at = 0; at < message.size(); at += size) {
    std::string part = message.substr(at, size);
    out += std::string("\x16\x03\x01") + static_cast<char>(part.size() >> 8) + static_cast<char>(part.size()) + part;
  }
  return out;
}

}  // namespace cove::net::testing
