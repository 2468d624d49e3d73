#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/exec.h"

namespace cove {

// Keeps a bounded part of a stream: its first half of `most` bytes and its last half.
class Retained {
 public:
  explicit Retained(uint64_t most) : head_most_(most - most / 2), tail_most_(most / 2) {}
  void add(std::string_view data);
  // Bytes that would be kept by neither half: only their number is added.
  void skip(uint64_t bytes) { total_ += bytes; }
  // Whether more bytes, followed by `rest` others, would be kept by neither half.
  bool can_skip(uint64_t rest) const { return head_.size() >= head_most_ && rest >= tail_most_; }
  CapturedStream take();

 private:
  uint64_t head_most_;
  uint64_t tail_most_;
  uint64_t total_ = 0;
  std::string head_;
  std::string tail_;  // a ring once it is full
  size_t next_ = 0;   // where the ring's oldest byte lies
};

}  // namespace cove
