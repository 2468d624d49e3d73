#include "net/gateway/opening_reader.h"

#include <gtest/gtest.h>

#include "net/gateway/test_hello.h"

namespace cove::net {
namespace {

using namespace testing;
using State = OpeningReader::State;

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
