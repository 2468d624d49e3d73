#pragma once

#include <poll.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::cli {

// Standard output or error, written to without waiting. The descriptor may be shared with other programs, so it is not
// made non-blocking itself.
class Sink {
 public:
  explicit Sink(int fd);

  void add(std::string_view data) { pending_ += data; }
  bool empty() const { return size() == 0; }
  size_t size() const { return pending_.size() - written_; }
  // What to wait for; fd -1 where there is nothing to write.
  pollfd wanted() const;
  // After poll: writes a portion.
  void move(short revents);
  // Writes all that is left, waiting where it must.
  void flush();
  // It takes nothing any more; what is added is dropped.
  bool broken() const { return error_ != 0; }
  // Because whoever read it has gone, which is no fault of ours.
  bool unread() const;
  // Of the write that failed; 0: none did.
  int error() const { return error_; }

 private:
  void write_portion();

  int fd_;
  UniqueFd own_;
  size_t portion_;
  std::string pending_;
  size_t written_ = 0;  // of it
  int error_ = 0;
};

// Both to their ends: standard output and error. Fails where they could not be written, but not for want of a reader.
Result<void> finish(Sink& out, Sink& err);

}  // namespace cove::cli
