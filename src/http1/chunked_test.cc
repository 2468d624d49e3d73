#include "http1/chunked.h"

#include <gtest/gtest.h>

namespace cove::http1 {
namespace {

TEST(ChunkSize, IsHexadecimal) {
  EXPECT_EQ(*parse_chunk_size("0", Padding::Taken), 0u);
  EXPECT_EQ(*parse_chunk_size("1a;name=value", Padding::Taken), 26u);
  EXPECT_EQ(*parse_chunk_size("FF ", Padding::Taken), 255u);
  for (const char* bad : {"", ";x", "g", "-1", "0x1", "1 2", "ffffffffffffffffff", "8000000000000000"})
    EXPECT_FALSE(parse_chunk_size(bad, Padding::Taken)) << bad;
}

TEST(ChunkSize, MayHaveWellFormedExtensions) {
  for (const char* good : {"5 ; a", "5;a;b=c", "5;a=\"x;\\\"y\"", "5\t"})
    EXPECT_EQ(*parse_chunk_size(good, Padding::Taken), 5u) << good;
  for (const char* bad : {"5;", "5;a=", "5;a=\"x", "5;;a", "5;a b", "5 a"})
    EXPECT_FALSE(parse_chunk_size(bad, Padding::Taken)) << bad;
}

TEST(ChunkSize, HasNoBlanksBehindItWhereTheyAreRefused) {
  EXPECT_EQ(*parse_chunk_size("1a;name=value", Padding::Refused), 26u);
  for (const char* padded : {"FF ", "5\t", "5;a "}) {
    EXPECT_FALSE(parse_chunk_size(padded, Padding::Refused)) << padded;
    EXPECT_TRUE(parse_chunk_size(padded, Padding::Taken)) << padded;
  }
}

TEST(ChunkHead, IsWhatTheDecoderTakes) {
  EXPECT_EQ(chunk_head(500), "1f4\r\n");
  EXPECT_EQ(chunk_head(UINT64_MAX), "ffffffffffffffff\r\n");
}

TEST(ChunkedDecoder, LetsDataPassBesideIt) {
  ChunkedDecoder decoder(100, Padding::Refused);
  std::string_view input = "5\r\n";
  EXPECT_EQ(*decoder.feed(input, {}), 0u);
  EXPECT_EQ(decoder.left(), 5u);
  decoder.pass(5);
  input = "\r\n0\r\n\r\nnext";
  EXPECT_EQ(*decoder.feed(input, {}), 0u);
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(input, "next");
}

}  // namespace
}  // namespace cove::http1
