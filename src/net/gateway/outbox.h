#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "net/gateway/loop.h"

namespace cove::net {

// What goes to coved over the channel. Never blocks: what the channel does not take at once waits, up to kMost bytes;
// entries beyond that are dropped and counted.
class Outbox {
 public:
  static constexpr size_t kMost = 8 << 20;

  // Borrows the channel, which the caller watches: for writing while something waits; `changed` is called when that
  // changes.
  Outbox(int channel, std::function<void()> changed) : channel_(channel), changed_(std::move(changed)) {}

  // False: dropped.
  bool send_entry(std::string message);
  // An answer, which is never dropped: there is one for each message of coved.
  void send_answer(std::string message) { enqueue(std::move(message)); }
  bool waiting() const { return !messages_.empty(); }
  // The channel takes more.
  void flush();

 private:
  bool send_now(const std::string& message);
  void enqueue(std::string message);

  int channel_;
  std::function<void()> changed_;
  std::deque<std::string> messages_;
  size_t size_ = 0;
};

}  // namespace cove::net
