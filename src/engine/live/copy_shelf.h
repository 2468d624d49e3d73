#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace cove::live {

// A copy of an interpreter that waits (Sandbox::copy_waiting).
struct Copy {
  std::shared_ptr<const UniqueFd> file;
  std::string script;  // the path at which it will look for its script
};

// Which of the interpreters for a class of sandboxes are started, and which are copies of one that was. All that come
// of one start have the same addresses: so they are few, and others come between.
//
// Decides only; whoever asks has the copies made. Not thread-safe.
class CopyShelf {
 public:
  using Clock = std::chrono::steady_clock;

  // `each`: how many copies of one are used.
  explicit CopyShelf(uint64_t each) : each_(each) {}

  // The copy that the next interpreter is to be. None: it is to be started, and `put` here.
  std::optional<Copy> take(Clock::time_point now);
  void put(Copy copy, Clock::time_point now);
  // One could not be made or used: none is for a while.
  void give_up(Clock::time_point now);
  // Whether one that was started may be copied now.
  bool is_open(Clock::time_point now) const { return each_ > 0 && now >= closed_until_; }
  // What is too old goes; the host's own files may have changed.
  void tidy(Clock::time_point now);
  size_t size() const { return copies_.size(); }

 private:
  struct Kept {
    Copy copy;
    uint64_t left;
    Clock::time_point made;
  };

  uint64_t each_;
  std::deque<Kept> copies_;
  Clock::time_point closed_until_{};
};

}  // namespace cove::live
