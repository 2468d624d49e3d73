#include "http1/sha1.h"

#include <array>
#include <bit>
#include <cstdint>

namespace cove::http1 {
namespace {

constexpr size_t kBlock = 64;
using State = std::array<uint32_t, 5>;

std::string padded(std::string_view data) {
  std::string text(data);
  text += '\x80';
  while (text.size() % kBlock != 56) text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(uint64_t{data.size()} * 8 >> shift & 0xff);
  return text;
}

std::array<uint32_t, 80> schedule(std::string_view block) {
  std::array<uint32_t, 80> words = {};
  for (size_t i = 0; i < kBlock; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (size_t i = 16; i < 80; ++i) words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  return words;
}

uint32_t mix(size_t round, uint32_t b, uint32_t c, uint32_t d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

void add_block(State& state, std::string_view block) {
  std::array<uint32_t, 80> words = schedule(block);
  auto [a, b, c, d, e] = state;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t next = std::rotl(a, 5) + mix(i, b, c, d) + e + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string sha1(std::string_view data) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::string text = padded(data);
  for (size_t at = 0; at < text.size(); at += kBlock) add_block(state, std::string_view(text).substr(at, kBlock));
  std::string digest;
  for (uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 0xff);
  return digest;
}

}  // namespace cove::http1
