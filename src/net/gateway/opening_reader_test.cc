#include "net/gateway/opening_reader.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace cove::net {
namespace {

using State = OpeningReader::State;

// The ClientHello that OpenSSL sends.
std::string hello_for(const char* name, int padding = 0) {
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
std::string with_extension(std::string hello, unsigned type, std::string_view content) {
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
std::string in_records(const std::string& hello, size_t size) {
  std::string out, message = hello.substr(5);
  for (size_t at = 0; at < message.size(); at += size) {
    std::string part = message.substr(at, size);
    out += std::string("\x16\x03\x01") + static_cast<char>(part.size() >> 8) + static_cast<char>(part.size()) + part;
  }
  return out;
}

class OpeningReaderTest : public ::testing::Test {
 protected:
  State add(std::string_view bytes) { return reader_.add(bytes, Server::Silent); }
  HelloParser parser_ = HelloParser::create().value();
  OpeningReader reader_{parser_};
};

TEST_F(OpeningReaderTest, ReadsTheNameOfAClientHello) {
  EXPECT_EQ(add(hello_for("api.example.org")), State::Tls);
  EXPECT_EQ(reader_.hello().name, "api.example.org");
  EXPECT_FALSE(reader_.hello().encrypted);
}

TEST_F(OpeningReaderTest, AClientHelloMayHaveNoName) {
  EXPECT_EQ(add(hello_for(nullptr)), State::Tls);
  EXPECT_EQ(reader_.hello().name, "");
}

TEST_F(OpeningReaderTest, ReadsAClientHelloByteByByte) {
  std::string hello = hello_for("api.example.org");
  for (size_t i = 0; i + 1 < hello.size(); ++i) ASSERT_EQ(add(hello.substr(i, 1)), State::NeedsMore) << i;
  EXPECT_EQ(add(hello.substr(hello.size() - 1)), State::Tls);
  EXPECT_EQ(reader_.hello().name, "api.example.org");
  EXPECT_EQ(reader_.bytes(), hello);
}

TEST_F(OpeningReaderTest, ReadsAClientHelloInManyRecords) {
  EXPECT_EQ(add(in_records(hello_for("api.example.org"), 7)), State::Tls);
  EXPECT_EQ(reader_.hello().name, "api.example.org");
}

TEST_F(OpeningReaderTest, ReadsAPaddedClientHelloLargerThanARecord) {
  std::string hello = hello_for("api.example.org", 60'000);
  ASSERT_GT(hello.size(), 60'000u);
  EXPECT_EQ(add(hello.substr(0, 30'000)), State::NeedsMore);
  EXPECT_EQ(add(hello.substr(30'000)), State::Tls);
  EXPECT_EQ(reader_.hello().name, "api.example.org");
}

TEST_F(OpeningReaderTest, AClientHelloThatNeverEndsIsRefused) {
  std::string endless("\x16\x03\x01\x40\x00\x01\x01\xff\x00", 9);
  State state = add(endless + std::string(0x4000 - 4, 'x'));
  for (int i = 0; i < 16 && state == State::NeedsMore; ++i)
    state = add(std::string("\x16\x03\x01\x40\x00", 5) + std::string(0x4000, 'x'));
  EXPECT_EQ(state, State::BrokenTls);
}

TEST_F(OpeningReaderTest, SeesAnEncryptedClientHello) {
  EXPECT_EQ(add(with_extension(hello_for("public.example.org"), 0xfe0d, std::string(64, 'e'))), State::Tls);
  EXPECT_TRUE(reader_.hello().encrypted);
}

TEST_F(OpeningReaderTest, AnExtensionThatServersReadInDifferentWaysIsRefused) {
  std::string two_names(
      "\x00\x14\x00\x00\x07"
      "a.small"
      "\x00\x00\x07"
      "b.small",
      22);
  EXPECT_EQ(add(with_extension(hello_for(nullptr), 0, two_names)), State::BrokenTls);
}

TEST_F(OpeningReaderTest, TwoNamesInTwoExtensionsAreRefused) {
  std::string name(
      "\x00\x0a\x00\x00\x07"
      "b.small",
      12);
  EXPECT_EQ(add(with_extension(hello_for("a.example.org"), 0, name)), State::BrokenTls);
}

TEST_F(OpeningReaderTest, AnotherVersionInTheRecordIsNoWayAround) {
  std::string hello = hello_for("api.example.org");
  hello[1] = 5;
  EXPECT_EQ(add(hello), State::BrokenTls);
}

TEST_F(OpeningReaderTest, AWarningBeforeTheClientHelloHidesNoName) {
  std::string warning("\x15\x03\x01\x00\x02\x01\x5a", 7);
  State state = add(warning + hello_for("api.example.org"));
  EXPECT_TRUE(state == State::BrokenTls || (state == State::Tls && reader_.hello().name == "api.example.org"));
}

TEST_F(OpeningReaderTest, AnEndBeforeTheClientHelloIsCompleteIsRefused) {
  EXPECT_EQ(add(hello_for("api.example.org").substr(0, 100)), State::NeedsMore);
  EXPECT_EQ(reader_.end(), State::BrokenTls);
}

TEST_F(OpeningReaderTest, AQueryIsFollowedByAClientHello) {
  std::string query("\x00\x00\x00\x08\x04\xd2\x16\x2f", 8);
  EXPECT_EQ(add(query), State::Query);
  EXPECT_EQ(reader_.take_query(), query);
  EXPECT_EQ(reader_.add("", Server::Silent), State::NeedsMore);
  EXPECT_EQ(reader_.add(hello_for("db.example.org"), Server::Spoke), State::Tls);
  EXPECT_EQ(reader_.hello().name, "db.example.org");
}

}  // namespace
}  // namespace cove::net
