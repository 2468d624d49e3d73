#include "client/websocket_frame.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "client/sha1.h"

namespace cove::client {
namespace {

constexpr Mask kMask = {0x37, 0xfa, 0x21, 0x3d};

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

// What the decoder makes of it: messages, or the error.
Result<std::vector<WebSocketMessage>> decode(const std::string& data) {
  FrameDecoder decoder;
  std::vector<WebSocketMessage> messages;
  for (char c : data) {
    decoder.feed({&c, 1});
    while (true) {
      std::optional<WebSocketMessage> message = COVE_TRY(decoder.next());
      if (!message) break;
      messages.push_back(std::move(*message));
    }
  }
  return messages;
}

TEST(WebSocketFrame, IsMaskedAsInTheStandard) {
  EXPECT_EQ(encode_frame(Opcode::Text, "Hello", kMask),
            bytes({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}));
}

TEST(WebSocketFrame, HasThreeFormsOfLength) {
  EXPECT_EQ(encode_frame(Opcode::Binary, std::string(125, 'x'), kMask).size(), 125u + 6);
  EXPECT_EQ(encode_frame(Opcode::Binary, std::string(126, 'x'), kMask).substr(1, 3), bytes({0x80 | 126, 0, 126}));
  EXPECT_EQ(encode_frame(Opcode::Binary, std::string(65536, 'x'), kMask).substr(1, 9),
            bytes({0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(WebSocketFrame, ComesByteByByte) {
  auto messages = decode(bytes({0x82, 3, 1, 2, 3, 0x81, 0, 0x89, 2, 'h', 'i'}));
  ASSERT_TRUE(messages) << messages.error().message();
  ASSERT_EQ(messages->size(), 3u);
  EXPECT_EQ((*messages)[0].data, bytes({1, 2, 3}));
  EXPECT_EQ((*messages)[1].opcode, Opcode::Text);
  EXPECT_EQ((*messages)[2].opcode, Opcode::Ping);
}

TEST(WebSocketFrame, TakesLongLengths) {
  std::string data(70000, 'y');
  auto messages = decode(bytes({0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70}) + data);
  ASSERT_TRUE(messages);
  EXPECT_EQ(messages->at(0).data, data);
}

TEST(WebSocketFrame, PutsFragmentsTogether) {
  auto messages = decode(bytes({0x01, 2, 'a', 'b', 0x8a, 0, 0x00, 1, 'c', 0x80, 1, 'd'}));
  ASSERT_TRUE(messages) << messages.error().message();
  ASSERT_EQ(messages->size(), 2u);
  EXPECT_EQ((*messages)[0].opcode, Opcode::Pong);
  EXPECT_EQ((*messages)[1].data, "abcd");
}

TEST(WebSocketFrame, RefusesWhatTheProtocolForbids) {
  const std::string kBad[] = {
      bytes({0x81, 0x80, 0, 0, 0, 0}),                              // masked by a server
      bytes({0xc1, 0}),                                             // a reserved bit
      bytes({0x83, 0}),                                             // an unknown kind
      bytes({0x09, 0}),                                             // a control frame in fragments
      bytes({0x89, 126, 0, 126}),                                   // a long control frame
      bytes({0x80, 0}),                                             // a continuation of nothing
      bytes({0x01, 0, 0x01, 0}),                                    // a beginning within a message
      bytes({0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255}),  // too large
  };
  for (const std::string& data : kBad) EXPECT_FALSE(decode(data));
}

TEST(WebSocketHandshake, AnswersTheKeyAsInTheStandard) {
  EXPECT_EQ(accept_of_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(from_base64(random_key())->size(), 16u);
}

TEST(Sha1, IsAsPublished) {
  EXPECT_EQ(to_base64(sha1("abc")), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
  EXPECT_EQ(to_base64(sha1("")), "2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
  EXPECT_EQ(to_base64(sha1(std::string(64, 'a'))), "AJi6gktcFkJ716ESKlpEKiXsZE0=");
}

}  // namespace
}  // namespace cove::client
