#include "http/request_parser.h"

#include <gtest/gtest.h>

namespace cove::http {
namespace {

constexpr size_t kMost = 4096;

// The status with which a head is refused; 0 where it is taken, -1 where more is wanted.
int refusal(std::string_view text) {
  RequestParser parser(kMost);
  auto whole = parser.parse_head(text);
  if (!whole) return whole.error().status;
  return *whole ? 0 : -1;
}

int refusal_with(const std::string& headers) { return refusal("POST /x HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"); }
int refusal_of_target(const std::string& target) { return refusal("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"); }

// A chunked body, in pieces of `step` bytes of input and `room` of output; nothing where it is malformed or not whole.
std::optional<std::string> decode(std::string_view body, size_t step, size_t room) {
  RequestParser parser(kMost);
  std::string_view head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_TRUE(parser.parse_head(head).value());
  std::string decoded, input;
  std::vector<char> out(room);
  for (;;) {
    std::string_view view = input;
    auto piece = parser.parse_chunked(view, out);
    if (!piece) return std::nullopt;
    input.erase(0, input.size() - view.size());
    decoded.append(out.data(), piece->bytes);
    if (piece->done) return input.empty() && body.empty() ? std::optional(decoded) : std::nullopt;
    if (piece->bytes > 0) continue;
    if (body.empty()) return std::nullopt;
    input += body.substr(0, step);
    body.remove_prefix(std::min(step, body.size()));
  }
}

TEST(RequestHead, ReadsWhatIsThere) {
  RequestParser parser(kMost);
  std::string_view input =
      "PUT /a%20b?x=1&y=%2F HTTP/1.1\r\nHost: here\r\nX-Two:  spaced \r\nContent-Length: 5\r\n\r\nbody!";
  ASSERT_TRUE(parser.parse_head(input).value());
  const Head& head = parser.head();
  EXPECT_EQ(input, "body!");
  EXPECT_EQ(head.request.method, "PUT");
  EXPECT_EQ(head.request.path, "/a%20b");
  EXPECT_EQ(head.request.parameter("y"), "/");
  EXPECT_EQ(head.request.header("x-TWO"), "spaced");
  EXPECT_EQ(head.framing.length, 5u);
  EXPECT_TRUE(head.keep_alive);
}

TEST(RequestHead, ComesByteByByte) {
  std::string text = "GET /x HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
  RequestParser parser(kMost);
  std::string buffer;
  for (size_t i = 0; i < text.size(); ++i) {
    buffer += text[i];
    std::string_view view = buffer;
    auto whole = parser.parse_head(view);
    ASSERT_TRUE(whole) << whole.error().reason;
    buffer.erase(0, buffer.size() - view.size());
    EXPECT_EQ(*whole, i + 1 == text.size());
  }
  EXPECT_EQ(parser.head().request.header("a"), "b");
}

TEST(RequestHead, KeepsAliveAsTheVersionAndTheClientWant) {
  auto kept = [](std::string_view text) {
    RequestParser parser(kMost);
    return parser.parse_head(text).value() && parser.head().keep_alive;
  };
  EXPECT_TRUE(kept("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_FALSE(kept("GET / HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_FALSE(kept("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(kept("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestHead, RefusesTwoLengths) {
  EXPECT_EQ(refusal_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(refusal_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(refusal_with("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(refusal_with("Content-Length: 5\r\nTransfer-Encoding: identity\r\n"), 400);
  EXPECT_EQ(refusal_with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(refusal_with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
  EXPECT_EQ(refusal_with("Content-Length: 5, 5\r\n"), 400);
}

TEST(RequestHead, RefusesStrangeLengths) {
  for (auto value : {"-1", "+5", "0x5", "5 5", "", "five", "18446744073709551616", "9223372036854775808", "1e3"})
    EXPECT_EQ(refusal_with(std::string("Content-Length: ") + value + "\r\n"), 400) << value;
  EXPECT_EQ(refusal_with("Content-Length : 5\r\n"), 400);
  EXPECT_EQ(refusal_with("Content-Length: 5\r\n"), 0);
}

TEST(RequestHead, RefusesStrangeTransferCodings) {
  EXPECT_EQ(refusal_with("Transfer-Encoding: gzip\r\n"), 501);
  EXPECT_EQ(refusal_with("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(refusal_with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(refusal_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(refusal_with("Transfer-Encoding: chunked, identity\r\n"), 501);
  EXPECT_EQ(refusal_with("Transfer-Encoding: \x0b"
                         "chunked\r\n"),
            400);
  EXPECT_EQ(refusal_with("Transfer_Encoding: chunked\r\n"), 0);  // another header, and not ours
  EXPECT_EQ(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(refusal_with("Transfer-Encoding: Chunked\r\n"), 0);
}

TEST(RequestHead, RefusesStrangeLines) {
  EXPECT_EQ(refusal("GET / HTTP/1.1\nHost: x\n\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n: x\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n"), 400);
  EXPECT_EQ(refusal(std::string_view("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 37)), 400);
  EXPECT_EQ(refusal("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(refusal("GET / HTTP/x.y\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET /\r\n\r\n\r\n\r\n\r\n"), 400);
  EXPECT_EQ(refusal("\x16\x03\x01\x02 hello"), 400);
}

TEST(RequestHead, WantsOneHost) {
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.0\r\n\r\n"), 0);
}

TEST(RequestHead, RefusesWhatIsTooLong) {
  EXPECT_EQ(refusal("GET /" + std::string(kMost, 'x')), 414);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(kMost, 'x')), 431);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(kMost, 'x') + "\r\n\r\n"), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  while (many.size() < kMost) many += "A: b\r\n";
  EXPECT_EQ(refusal(many), 431);
  EXPECT_EQ(refusal(many + "\r\n"), 431);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(kMost / 2, 'x') + "\r\n\r\n"), 0);
}

TEST(RequestHead, RefusesMalformedTargets) {
  for (auto target : {"/%", "/%zz", "/a%00b", "/?a=%", "/?%00", "x", "ftp://x/y", "http:///x"})
    EXPECT_EQ(refusal_of_target(target), 400) << target;
  EXPECT_EQ(refusal_of_target("/a%2Fb?c=%20"), 0);
  EXPECT_EQ(refusal_of_target("*"), 0);
}

TEST(RequestHead, TakesAbsoluteTargets) {
  RequestParser parser(kMost);
  std::string_view input = "GET http://there:81?q=1 HTTP/1.1\r\nHost: here\r\n\r\n";
  ASSERT_TRUE(parser.parse_head(input).value());
  EXPECT_EQ(parser.head().request.path, "/");
  EXPECT_EQ(parser.head().request.parameter("q"), "1");
  EXPECT_EQ(parser.head().request.header("host"), "there:81");
}

TEST(RequestHead, KnowsWhoWaitsForContinue) {
  auto waits = [](std::string_view text) {
    RequestParser parser(kMost);
    return parser.parse_head(text).value() && parser.head().expects_continue;
  };
  EXPECT_TRUE(waits("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_FALSE(waits("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_FALSE(waits("PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
}

TEST(Chunked, DecodesInAnyPieces) {
  std::string body = "5\r\nhello\r\n1;ext=\"a\"\r\n,\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  for (size_t step : {1, 2, 3, 7, 1000})
    for (size_t room : {1, 4, 1000}) EXPECT_EQ(decode(body, step, room), "hello,0123456789") << step << " " << room;
}

TEST(Chunked, AnEmptyOneInAnyPieces) {
  for (size_t step : {1, 2, 3, 4, 5}) EXPECT_EQ(decode("0\r\n\r\n", step, 10), "");
}

TEST(Chunked, RefusesWhatIsMalformed) {
  for (auto body : {"x\r\nhello\r\n0\r\n\r\n", "\r\n\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n",
                    "5\nhello\n0\n\n", "0x5\r\nhello\r\n0\r\n\r\n", "fffffffffffffffff\r\nx\r\n0\r\n\r\n",
                    "5 5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n", "5\r\nhel", "0\r\nContent-Length: 5\r\n\r\n",
                    "5;\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "0\r\nbad trailer\r\n\r\n"})
    for (size_t step : {1, 1000}) EXPECT_EQ(decode(body, step, 100), std::nullopt) << body;
}

TEST(Chunked, RefusesEndlessChunkHeadersAndTrailers) {
  EXPECT_EQ(decode("5;" + std::string(3 * kMost, 'x'), 512, 100), std::nullopt);
  EXPECT_EQ(decode("0\r\nA: " + std::string(3 * kMost, 'x'), 512, 100), std::nullopt);
}

}  // namespace
}  // namespace cove::http
