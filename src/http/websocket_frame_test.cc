#include "http/websocket_frame.h"

#include <gtest/gtest.h>

#include "http/test_support.h"

namespace cove::http {
namespace {

using testing::masked_frame;

constexpr uint8_t kFinal = 0x80;

// Feeds all of it byte by byte, as the cruellest network would; the first thing that comes out.
std::expected<std::optional<FrameReader::Event>, FrameReader::Violation> feed_slowly(FrameReader& reader,
                                                                                     std::string_view bytes) {
  for (char byte : bytes) {
    std::string_view input(&byte, 1);
    auto event = reader.feed(input);
    if (!event || *event) return event;
  }
  return std::nullopt;
}

uint16_t violation_of(std::string_view bytes, uint64_t max_message = 1000) {
  FrameReader fast(max_message), slow(max_message);
  auto slowly = feed_slowly(slow, bytes);
  while (!bytes.empty()) {
    auto event = fast.feed(bytes);
    if (event) continue;
    EXPECT_FALSE(slowly);
    return event.error().code;
  }
  return 0;
}

TEST(Frames, MessagesOfAllLengths) {
  for (size_t length : {0, 1, 7, 125, 126, 127, 65535, 65536, 100000}) {
    std::string text(length, 'x');
    for (size_t i = 0; i < length; ++i) text[i] = static_cast<char>('a' + i % 26);
    FrameReader reader(1 << 20);
    std::string bytes = masked_frame(kFinal | 1, text) + "next";
    std::string_view input = bytes;
    auto event = reader.feed(input);
    ASSERT_TRUE(event && *event) << length;
    EXPECT_EQ((*event)->opcode, Opcode::Text);
    EXPECT_EQ((*event)->data, text);
    EXPECT_EQ(input, "next");
    FrameReader slow(1 << 20);
    auto again = feed_slowly(slow, bytes);
    ASSERT_TRUE(again && *again);
    EXPECT_EQ((*again)->data, text);
  }
}

TEST(Frames, FragmentsWithControlFramesBetween) {
  FrameReader reader(1000);
  std::string bytes = masked_frame(2, "one ") + masked_frame(kFinal | 9, "ping") + masked_frame(0, "two ") +
                      masked_frame(kFinal | 0, "three");
  std::string_view input = bytes;
  auto ping = reader.feed(input);
  ASSERT_TRUE(ping && *ping);
  EXPECT_EQ((*ping)->opcode, Opcode::Ping);
  EXPECT_EQ((*ping)->data, "ping");
  auto message = reader.feed(input);
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->opcode, Opcode::Binary);
  EXPECT_EQ((*message)->data, "one two three");
  EXPECT_TRUE(input.empty());
}

TEST(Frames, CloseWithAndWithoutCode) {
  FrameReader reader(1000);
  std::string bytes = masked_frame(kFinal | 8, "");
  std::string_view input = bytes;
  EXPECT_EQ(reader.feed(input).value()->close_code, 1005);
  bytes = masked_frame(kFinal | 8, "\x03\xe9 bye");
  input = bytes;
  auto event = reader.feed(input);
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->close_code, 1001);
  EXPECT_EQ((*event)->data, " bye");
}

TEST(Frames, ViolationsAreTold) {
  std::string unmasked = "\x81\x02hi";
  EXPECT_EQ(violation_of(unmasked), 1002);
  EXPECT_EQ(violation_of(masked_frame(kFinal | 0x40 | 1, "")), 1002);              // a reserved bit
  EXPECT_EQ(violation_of(masked_frame(kFinal | 3, "")), 1002);                     // an unknown opcode
  EXPECT_EQ(violation_of(masked_frame(kFinal | 11, "")), 1002);                    // and control opcode
  EXPECT_EQ(violation_of(masked_frame(9, "")), 1002);                              // a fragmented ping
  EXPECT_EQ(violation_of(masked_frame(kFinal | 9, std::string(126, 'x'))), 1002);  // a long ping
  EXPECT_EQ(violation_of(masked_frame(kFinal | 0, "x")), 1002);                    // nothing to continue
  EXPECT_EQ(violation_of(masked_frame(1, "x") + masked_frame(kFinal | 1, "")), 1002);
  EXPECT_EQ(violation_of(masked_frame(kFinal | 8, "x")), 1002);         // half a close code
  EXPECT_EQ(violation_of(masked_frame(kFinal | 8, "\x03\xed")), 1002);  // 1005 is never sent
  EXPECT_EQ(violation_of(masked_frame(kFinal | 8, "\x03\xe8\xff")), 1007);
  EXPECT_EQ(violation_of(masked_frame(kFinal | 1, "\xc3(")), 1007);
  EXPECT_EQ(violation_of(masked_frame(kFinal | 2, std::string(1001, 'x'))), 1009);
  EXPECT_EQ(violation_of(masked_frame(2, std::string(600, 'x')) + masked_frame(0, std::string(600, 'x'))), 1009);
  std::string endless("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10);
  EXPECT_EQ(violation_of(endless + "mask"), 1002);
  EXPECT_EQ(violation_of(masked_frame(kFinal | 1, "fine")), 0);
}

TEST(Frames, HeadsOfTheServer) {
  EXPECT_EQ(frame_head(Opcode::Text, 5), "\x81\x05");
  EXPECT_EQ(frame_head(Opcode::Binary, 126), std::string("\x82\x7e\x00\x7e", 4));
  EXPECT_EQ(frame_head(Opcode::Binary, 65536), std::string("\x82\x7f\0\0\0\0\0\x01\0\0", 10));
}

TEST(Frames, CloseReasonsAreCutBetweenCharacters) {
  std::string reason;
  for (int i = 0; i < 62; ++i) reason += "\xc3\xa9";
  std::string frame = close_frame(1000, reason);
  EXPECT_EQ(frame.size(), 2u + 2 + 122);
  EXPECT_TRUE(valid_utf8(std::string_view(frame).substr(4)));
}

TEST(Utf8, KnowsWhatIsValid) {
  for (std::string_view good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(valid_utf8(good)) << good;
  for (std::string_view bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5",
                               "\xe2\x82", "\xe2\x28\xa1", "a\xff"})
    EXPECT_FALSE(valid_utf8(bad));
}

}  // namespace
}  // namespace cove::http
