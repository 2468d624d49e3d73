#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/sandbox_info.h"

namespace cove::engine {

enum class Stream : uint8_t { Out = 1, Err = 2 };

// A piece of output. Numbers begin with 1; the exec's end has the number after the last piece.
struct Chunk {
  uint64_t seq = 0;
  Stream stream = Stream::Out;
  std::string data;
};

// Follows the output of one exec from a number on. One thread at a time. While it exists, a program that writes faster
// than it is read waits.
class Follower {
 public:
  virtual ~Follower() = default;
  // What there is now, at most about `most` bytes; empty where there is nothing new. Pieces that are not kept any
  // longer are left out.
  virtual Result<std::vector<Chunk>> next(size_t most) = 0;
  // Everything has been read and nothing more will come.
  virtual bool at_end() const = 0;
  // Readable when `next` has something or the exec has ended; cleared by `next`.
  virtual int fd() const = 0;
};

// One exec, running or ended. Thread-safe.
class Exec {
 public:
  virtual ~Exec() = default;
  virtual ExecInfo info() const = 0;
  virtual bool ended() const = 0;
  // It ended because Cove itself failed: there is no result then.
  virtual std::optional<Error> failure() const = 0;

  virtual Result<std::unique_ptr<Follower>> follow(uint64_t from_seq) = 0;
  // A descriptor that is readable once the exec has ended.
  virtual Result<UniqueFd> end_fd() = 0;

  // Waits until the program has taken it, or `patience` is over (Unavailable: how much was taken is in the message).
  // Conflict where input is closed or was never open.
  virtual Result<void> write_input(std::string_view data, std::chrono::milliseconds patience) = 0;
  // The same, but what was not taken within `patience` stays with the caller: how many bytes were.
  virtual Result<size_t> offer_input(std::string_view data, std::chrono::milliseconds patience) = 0;
  virtual Result<void> close_input() = 0;
  virtual Result<void> signal(int number, bool group) = 0;
  virtual Result<void> resize(WindowSize size) = 0;
  // Ends it with all that it started; returns when it has ended.
  virtual Result<void> kill() = 0;
};

// What can be done to code that runs in an interpreter which is another exec. Thread-safe.
class CodeControl {
 public:
  virtual ~CodeControl() = default;
  virtual Result<void> signal(int number) = 0;
  // Asks for its end, and does not wait for it.
  virtual Result<void> kill() = 0;
};

// An exec on record that has no program of its own: code in a context. Whoever runs it writes down its output and its
// end; where this goes before that, nobody knows how it ended. One thread.
class CodeRecord {
 public:
  virtual ~CodeRecord() = default;
  // Returns what of it can be shown: secrets are masked, and what may become one is held back.
  virtual std::string write(Stream stream, std::string_view data) = 0;
  // What was held back.
  virtual std::string rest(Stream stream) = 0;
  // Once.
  virtual void end(ExecResult result) = 0;
};

}  // namespace cove::engine
