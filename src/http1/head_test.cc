#include "http1/head.h"

#include <gtest/gtest.h>

namespace cove::http1 {
namespace {

// What a reader of 40 bytes makes of it, given in pieces of `step`: 0 whole, -1 more is wanted, or the status.
int outcome(std::string_view text, size_t step) {
  HeadReader reader(40);
  while (!text.empty()) {
    std::string_view piece = text.substr(0, step);
    text.remove_prefix(piece.size());
    auto whole = reader.feed(piece);
    if (!whole) return whole.error().status;
    if (*whole) return 0;
  }
  return -1;
}

TEST(HeadReader, SaysTheSameInAnyPieces) {
  struct Case {
    std::string_view text;
    int outcome;
  };
  const Case kCases[] = {{"first\r\nA: b\r\n\r\n", 0},
                         {"first\r\n\r\n", 0},
                         {"first\r\nA: b\r\n", -1},
                         {"first\r\nA: b\r\n\r", -1},
                         {"first\n", 400},
                         {"fi\rst\r\n", 400},
                         {"first\r\r\n", 400},
                         {"first\r\nA: b\n", 400},
                         {"first\r\nA: \x01", 400},
                         {"first\r\nA: \x7f", 400},
                         {"\x16\x03", 400},
                         {"first\r\nA\r\n", 400},
                         {"first\r\nA : b\r\n", 400},
                         {"first\r\nA: b\r\n c\r\n\r\n", 400},
                         {"a first line of more than the forty bytes that are taken", 414},
                         {"first\r\nA: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 431}};
  for (const Case& each : kCases)
    for (size_t step : {1, 2, 3, 7, 100}) EXPECT_EQ(outcome(each.text, step), each.outcome) << each.text << " " << step;
}

TEST(HeadReader, TrimsValuesAndKeepsTheRest) {
  HeadReader reader(100);
  std::string_view input = "first line\r\nA: \t b c \t\r\nB:\r\na:2\r\n\r\nrest";
  ASSERT_TRUE(*reader.feed(input));
  EXPECT_EQ(reader.first_line(), "first line");
  EXPECT_EQ(reader.headers(), (Headers{{"A", "b c"}, {"B", ""}, {"a", "2"}}));
  EXPECT_EQ(find_header(reader.headers(), "A"), "b c");
  EXPECT_EQ(find_header(reader.headers(), "b"), "");
  EXPECT_EQ(find_header(reader.headers(), "c"), std::nullopt);
  EXPECT_EQ(count_headers(reader.headers(), "a"), 2u);
  EXPECT_EQ(input, "rest");
}

TEST(HeadWriter, LetsNothingEndItsLine) {
  HeadWriter writer("GET /a\r\nb HTTP/1.1");
  writer.add("Name", "value\r\nEvil: yes").add("N\nul", std::string_view("a\0b", 3));
  EXPECT_EQ(writer.take(), "GET /a  b HTTP/1.1\r\nName: value  Evil: yes\r\nN ul: a b\r\n\r\n");
}

}  // namespace
}  // namespace cove::http1
