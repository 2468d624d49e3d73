#include "client/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "id|event|data" for each, whatever the pieces that the text comes in.
std::vector<std::string> events(const std::string& text) {
  std::vector<std::string> whole, single;
  for (auto* out : {&whole, &single}) {
    EventParser parser;
    size_t piece = out == &whole ? text.size() + 1 : 1;
    for (size_t at = 0; at < text.size(); at += piece) parser.feed(std::string_view(text).substr(at, piece));
    while (auto event = parser.next()) out->push_back(event->id + "|" + event->event + "|" + event->data);
  }
  EXPECT_EQ(whole, single);
  return whole;
}

TEST(EventStream, HasNamesNumbersAndData) {
  EXPECT_THAT(events("id: 1\nevent: stdout\ndata: {}\n\nid:2\ndata:x\n\n"), ElementsAre("1|stdout|{}", "2|message|x"));
}

TEST(EventStream, PassesOverComments) { EXPECT_THAT(events(": keep-alive\n\ndata: a\n\n"), ElementsAre("|message|a")); }

TEST(EventStream, JoinsLinesOfData) {
  EXPECT_THAT(events("data: a\ndata:\ndata:  b\n\n"), ElementsAre("|message|a\n\n b"));
}

TEST(EventStream, TakesEveryEndOfALine) {
  EXPECT_THAT(events("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ElementsAre("|message|a", "|message|b", "|message|c"));
}

TEST(EventStream, KeepsTheNumberOfTheLastEvent) {
  EXPECT_THAT(events("id: 7\ndata: a\n\ndata: b\n\n"), ElementsAre("7|message|a", "7|message|b"));
}

TEST(EventStream, LeavesOutWhatHasNoDataOrBreaksOff) {
  EXPECT_THAT(events("event: x\n\nid: 3\n\n"), IsEmpty());
  EXPECT_THAT(events("data: a\n\ndata: half"), ElementsAre("|message|a"));
  EXPECT_THAT(events("data: half\n"), IsEmpty());
}

TEST(EventStream, PassesOverUnknownFieldsAndAMark) {
  EXPECT_THAT(events("\xef\xbb\xbf"
                     "data: a\nretry: 5\nnonsense\n\n"),
              ElementsAre("|message|a"));
}

}  // namespace
}  // namespace cove::client
