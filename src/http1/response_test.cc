#include "http1/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::http1 {
namespace {

using ::testing::HasSubstr;

std::string head(const std::string& lines) { return lines + "\r\n\r\n"; }

std::expected<ResponseHead, Malformed> parse(std::string_view text) {
  HeadReader reader(4096);
  auto whole = reader.feed(text);
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) return malformed("its end is missing");
  return parse_response_head(reader);
}

std::string refusal(const std::string& text) {
  auto parsed = parse(text);
  EXPECT_FALSE(parsed) << text;
  return parsed ? "" : parsed.error().reason;
}

TEST(ResponseHead, HasStatusAndHeaders) {
  auto parsed = parse(head("HTTP/1.1 201 Created\r\nContent-Length: 12\r\nX:  a b \r\nEmpty:"));
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_EQ(parsed->status, 201);
  EXPECT_EQ(parsed->header("content-length"), "12");
  EXPECT_EQ(parsed->header("x"), "a b");
  EXPECT_EQ(parsed->header("empty"), "");
  EXPECT_EQ(parsed->header("missing"), "");
  EXPECT_TRUE(parsed->keeps_alive);
}

TEST(ResponseHead, NeedsNoReason) {
  EXPECT_TRUE(parse(head("HTTP/1.1 200")));
  EXPECT_TRUE(parse(head("HTTP/1.1 200 ")));
}

TEST(ResponseHead, TellsWhetherTheConnectionIsKept) {
  EXPECT_FALSE(parse(head("HTTP/1.1 200 OK\r\nConnection: Close"))->keeps_alive);
  EXPECT_FALSE(parse(head("HTTP/1.0 200 OK"))->keeps_alive);
}

TEST(ResponseHead, RefusesWhatIsNone) {
  for (const char* line : {"", "HTTP/2 200 OK", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 abc OK",
                           "HTTP/1.1 099 No", "HTTP/1.1  200", "http/1.1 200 OK", "SSH-2.0-OpenSSH"})
    EXPECT_THAT(refusal(head(line)), HasSubstr("its ")) << line;
  for (const char* line :
       {"no colon", ": no name", "a b: c", "a : c", " folded: x", "a\t: c", "name: v\x01lue", "name: a\rb", "näme: x"})
    EXPECT_THAT(refusal(head(std::string("HTTP/1.1 200 OK\r\n") + line)), HasSubstr("header")) << line;
  EXPECT_THAT(refusal("HTTP/1.1 200 OK\r\nA: b\r\n"), HasSubstr("its end"));
  EXPECT_THAT(refusal(head(std::string("HTTP/1.1 200 OK\r\nA: b\0c", 23))), HasSubstr("header"));
}

TEST(ResponseHead, EndsWithTheEmptyLine) {
  HeadReader reader(100);
  std::string_view input = "HTTP/1.1 200 OK\r\n";
  EXPECT_FALSE(*reader.feed(input));
  input = "A: b\r";
  EXPECT_FALSE(*reader.feed(input));
  input = "\n\r\nbody";
  EXPECT_TRUE(*reader.feed(input));
  EXPECT_EQ(input, "body");
}

std::expected<Framing, Malformed> framing(const std::string& headers, std::string_view method = "GET",
                                          int status = 200) {
  auto parsed = parse(head("HTTP/1.1 " + std::to_string(status) + " X" + headers));
  EXPECT_TRUE(parsed);
  return framing_of(*parsed, method);
}

TEST(Framing, FollowsFromHeadersStatusAndMethod) {
  EXPECT_EQ(framing("\r\nContent-Length: 7")->length, 7u);
  EXPECT_EQ(framing("\r\nTransfer-Encoding: Chunked")->kind, Framing::Kind::Chunked);
  EXPECT_EQ(framing("")->kind, Framing::Kind::UntilClose);
  EXPECT_EQ(framing("\r\nContent-Length: 7", "HEAD")->length, 0u);
  EXPECT_EQ(framing("\r\nTransfer-Encoding: chunked", "GET", 204)->kind, Framing::Kind::Length);
  EXPECT_EQ(framing("\r\nContent-Length: 7\r\nContent-Length: 7")->length, 7u);
}

TEST(Framing, RefusesWhatCanBeReadInTwoWays) {
  for (const char* headers :
       {"\r\nContent-Length: 7\r\nContent-Length: 8", "\r\nContent-Length: 7\r\nTransfer-Encoding: chunked",
        "\r\nTransfer-Encoding: gzip, chunked", "\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "\r\nContent-Length: -1", "\r\nContent-Length: +1", "\r\nContent-Length: 0x10",
        "\r\nContent-Length: ", "\r\nContent-Length: 1, 1", "\r\nContent-Length: 99999999999999999999"})
    EXPECT_FALSE(framing(headers)) << headers;
}

}  // namespace
}  // namespace cove::http1
