#include "http1/websocket_frame.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace cove::http1 {
namespace {

constexpr uint8_t kFinal = 0x80;
constexpr Mask kMask = {0x37, 0xfa, 0x21, 0x3d};
constexpr auto kClient = FrameReader::From::Client;
constexpr auto kServer = FrameReader::From::Server;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

// A frame of a client, with any first byte.
std::string masked_frame(uint8_t first_byte, std::string_view payload) {
  std::string frame = http1::masked_frame(Opcode::Text, payload, kMask);
  frame[0] = static_cast<char>(first_byte);
  return frame;
}

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

uint16_t violation_of(std::string_view bytes, FrameReader::From from = kClient) {
  FrameReader fast(from, 1000), slow(from, 1000);
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
    FrameReader reader(kClient, 1 << 20);
    std::string data = masked_frame(kFinal | 1, text) + "next";
    std::string_view input = data;
    auto event = reader.feed(input);
    ASSERT_TRUE(event && *event) << length;
    EXPECT_EQ((*event)->opcode, Opcode::Text);
    EXPECT_EQ((*event)->data, text);
    EXPECT_EQ(input, "next");
    FrameReader slow(kClient, 1 << 20);
    auto again = feed_slowly(slow, data);
    ASSERT_TRUE(again && *again);
    EXPECT_EQ((*again)->data, text);
  }
}

TEST(Frames, FragmentsWithControlFramesBetween) {
  FrameReader reader(kClient, 1000);
  std::string text = masked_frame(2, "one ") + masked_frame(kFinal | 9, "ping") + masked_frame(0, "two ") +
                     masked_frame(kFinal | 0, "three");
  std::string_view input = text;
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
  FrameReader reader(kClient, 1000);
  std::string text = masked_frame(kFinal | 8, "");
  std::string_view input = text;
  EXPECT_EQ(reader.feed(input).value()->close_code, 1005);
  text = masked_frame(kFinal | 8, "\x03\xe9 bye");
  input = text;
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
  std::string payload = close_payload(1000, reason);
  EXPECT_EQ(payload.size(), 2u + 122);
  EXPECT_TRUE(is_utf8(std::string_view(payload).substr(2)));
}

TEST(ClientFrames, AreMaskedAsInTheStandard) {
  EXPECT_EQ(http1::masked_frame(Opcode::Text, "Hello", kMask),
            bytes({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}));
}

TEST(ClientFrames, HaveThreeFormsOfLength) {
  EXPECT_EQ(http1::masked_frame(Opcode::Binary, std::string(125, 'x'), kMask).size(), 125u + 6);
  EXPECT_EQ(http1::masked_frame(Opcode::Binary, std::string(126, 'x'), kMask).substr(1, 3),
            bytes({0x80 | 126, 0, 126}));
  EXPECT_EQ(http1::masked_frame(Opcode::Binary, std::string(65536, 'x'), kMask).substr(1, 9),
            bytes({0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0}));
}

// All that a server's bytes come to, given one by one.
std::vector<FrameReader::Event> events_of_server(const std::string& data) {
  FrameReader reader(kServer, 1 << 20);
  std::vector<FrameReader::Event> events;
  for (char byte : data) {
    std::string_view input(&byte, 1);
    auto event = reader.feed(input);
    EXPECT_TRUE(event) << event.error().reason;
    if (event && *event) events.push_back(std::move(**event));
  }
  return events;
}

TEST(ServerFrames, ComeByteByByte) {
  auto events = events_of_server(bytes({0x82, 3, 1, 2, 3, 0x81, 0, 0x89, 2, 'h', 'i'}));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].data, bytes({1, 2, 3}));
  EXPECT_EQ(events[1].opcode, Opcode::Text);
  EXPECT_EQ(events[2].opcode, Opcode::Ping);
}

TEST(ServerFrames, HaveLongLengths) {
  std::string data(70000, 'y');
  auto events = events_of_server(bytes({0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70}) + data);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].data, data);
}

TEST(ServerFrames, FragmentsArePutTogether) {
  auto events = events_of_server(bytes({0x01, 2, 'a', 'b', 0x8a, 0, 0x00, 1, 'c', 0x80, 1, 'd'}));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].opcode, Opcode::Pong);
  EXPECT_EQ(events[1].data, "abcd");
}

TEST(ServerFrames, WhatTheProtocolForbidsIsRefused) {
  EXPECT_EQ(violation_of(bytes({0x81, 0x80, 0, 0, 0, 0}), kServer), 1002);  // masked
  EXPECT_EQ(violation_of(bytes({0xc1, 0}), kServer), 1002);                 // a reserved bit
  EXPECT_EQ(violation_of(bytes({0x83, 0}), kServer), 1002);                 // an unknown kind
  EXPECT_EQ(violation_of(bytes({0x09, 0}), kServer), 1002);                 // a control frame in fragments
  EXPECT_EQ(violation_of(bytes({0x89, 126, 0, 126}), kServer), 1002);       // a long control frame
  EXPECT_EQ(violation_of(bytes({0x80, 0}), kServer), 1002);                 // a continuation of nothing
  EXPECT_EQ(violation_of(bytes({0x01, 0, 0x01, 0}), kServer), 1002);        // a beginning within a message
  EXPECT_EQ(violation_of(bytes({0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255}), kServer), 1009);
}

}  // namespace
}  // namespace cove::http1
