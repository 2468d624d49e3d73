#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/exec.h"

namespace cove {

// Keeps at most `most` bytes of a stream: half from its start and half from its end.
class Retained {
 public:
  explicit Retained(uint64_t most) : head_most_(most - most / 2), tail_most_(most / 2) {}
  void add(std::string_view data);
  // Skips bytes that neither half would keep: only their number is added.
  void skip(uint64_t bytes) { total_ += bytes; }
  // Whether neither half would keep more bytes that are followed by `rest` others.
  bool can_skip(uint64_t rest) const { return head_.size() >= head_most_ && rest >= tail_most_; }
  CapturedStream take();

 private:
  uint64_t head_most_;
  uint64_t tail_most_;
  uint64_t total_ = 0;
  std::string head_;
  std::string tail_;  // a ring once it is full
  size_t next_ = 0;   // the position of the ring's oldest byte
};

}  // namespace cove
