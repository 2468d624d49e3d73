#include "run/retained.h"

#include <gtest/gtest.h>

namespace cove {
namespace {

TEST(Retained, KeepsAllThatFits) {
  Retained kept(10);
  kept.add("hello");
  kept.add("world");
  CapturedStream stream = kept.take();
  EXPECT_EQ(stream.data, "helloworld");
  EXPECT_FALSE(stream.truncated);
  EXPECT_EQ(stream.bytes, 10u);
}

TEST(Retained, KeepsHeadAndTailOfTheRest) {
  for (size_t piece : {1u, 3u, 7u, 100u, 5000u}) {
    Retained kept(10);
    std::string all;
    for (int i = 0; i < 2000; ++i) all += static_cast<char>('a' + i % 26);
    for (size_t at = 0; at < all.size(); at += piece) kept.add(std::string_view(all).substr(at, piece));
    CapturedStream stream = kept.take();
    EXPECT_TRUE(stream.truncated);
    EXPECT_EQ(stream.bytes, all.size());
    EXPECT_TRUE(stream.data.starts_with(all.substr(0, 5))) << piece;
    EXPECT_TRUE(stream.data.ends_with(all.substr(all.size() - 5))) << piece;
    EXPECT_NE(stream.data.find("1990 bytes left out"), std::string::npos) << stream.data;
  }
}

TEST(Retained, CutsBetweenCharacters) {
  Retained kept(11);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  kept.add(text);
  CapturedStream stream = kept.take();
  for (size_t i = 0; i < stream.data.size(); ++i) {
    auto byte = static_cast<unsigned char>(stream.data[i]);
    if (byte == 0xc3) {
      EXPECT_EQ(static_cast<unsigned char>(stream.data[i + 1]), 0xa9);
    }
    if (byte == 0xa9) {
      EXPECT_EQ(static_cast<unsigned char>(stream.data[i - 1]), 0xc3);
    }
  }
}

}  // namespace
}  // namespace cove
