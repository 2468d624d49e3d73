#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "run/retained.h"

namespace cove {

// Whether a write failed with this error because nobody reads any more.
bool is_unread(int error);
// What becomes of a standard stream that took no more, with this error; 0: it took all. That nobody reads is no fault.
Result<void> delivered(int fd, int error);

// Where a stream is passed on to.
struct Target {
  int fd = -1;
  UniqueFd own;        // what `fd` is, if it was opened here
  size_t portion = 0;  // the most to write at once, so that it does not wait
};

// One output of a program: read as fast as the target takes it, so that a slow reader makes the program wait.
class OutputStream {
 public:
  // `target` is the descriptor to pass everything on to, or -1.
  OutputStream(UniqueFd source, int target, uint64_t retained);

  bool open() const { return source_.valid(); }
  // What to wait for: data, or room at the target.
  pollfd wanted() const;
  // After poll: moves one portion. Returns the number of bytes that the program wrote.
  uint64_t move(short revents);
  // Takes what is still in the pipe, without waiting for more; the program has ended.
  uint64_t drain();
  CapturedStream take() { return retained_.take(); }
  // The error of the target, where it took no more although it is still there; 0: none.
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

// The caller's stdin on its way to the program.
class InputStream {
 public:
  // What tells the program that there is no more. A terminal cannot be closed for reading alone: it sees Ctrl-D, which
  // a program may miss while it changes the terminal's mode; so it is pressed again until the program ends.
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
