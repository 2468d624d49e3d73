#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "run/retained.h"

namespace cove {

// Whether a write failed with this error because the reader is gone.
bool is_unread(int error);
// The result for a standard stream whose write failed with this error; 0: none failed. A missing reader is not an
// error.
Result<void> delivered(int fd, int error);

// The target of a stream.
struct Target {
  int fd = -1;
  UniqueFd own;        // owns `fd` if it was opened here
  size_t portion = 0;  // the maximum to write at once without blocking
};

// One output of a program: read as fast as the target accepts it, so that a slow reader blocks the program.
class OutputStream {
 public:
  // `target` is the descriptor to pass everything on to, or -1.
  OutputStream(UniqueFd source, int target, uint64_t retained);

  bool open() const { return source_.valid(); }
  // For poll: data to read, or room at the target.
  pollfd wanted() const;
  // Call after poll: moves one portion. Returns the number of bytes that the program wrote.
  uint64_t move(short revents);
  // Reads what is left in the pipe, without waiting for more; call when the program has ended.
  uint64_t drain();
  CapturedStream take() { return retained_.take(); }
  // The error of writing to the target, except for a missing reader; 0: none.
  int error() const { return error_; }

 private:
  uint64_t read_portion();
  void write_pending();
  void flush();

  UniqueFd source_;
  Target target_;
  bool widened_ = false;
  std::string pending_;
  Retained retained_;
  int error_ = 0;
};

// Forwards the caller's stdin to the program.
class InputStream {
 public:
  // Signals the end of input to the program. A terminal cannot be half-closed, so it gets Ctrl-D, which a program may
  // miss while it changes the terminal's mode; therefore it is repeated until the program ends.
  enum class End { Close, Key };
  InputStream(int source, UniqueFd target, End end);
  bool open() const { return target_.valid(); }
  pollfd wanted() const;
  void move(short revents);
  void close() { target_.reset(); }
  bool wants_end_key() const { return ended_ && open(); }
  void press_end_key();

 private:
  int source_;
  UniqueFd target_;
  End end_;
  bool ended_ = false;
  std::string pending_;
};

}  // namespace cove
