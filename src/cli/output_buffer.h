#pragma once

#include <poll.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::cli {

// Writes to standard output or error without blocking. The descriptor may be shared with other programs, so it is not
// itself made non-blocking.
class OutputBuffer {
 public:
  explicit OutputBuffer(int fd);

  void add(std::string_view data) { pending_ += data; }
  bool empty() const { return size() == 0; }
  size_t size() const { return pending_.size() - written_; }
  // For poll; fd is -1 if there is nothing to write.
  pollfd wanted() const;
  // Call after poll: writes a portion.
  void move(short revents);
  // Writes everything that is left, blocking if necessary.
  void flush();
  // A write has failed; data added from now on is dropped.
  bool broken() const { return error_ != 0; }
  // The write failed because the reader has closed its end.
  bool unread() const;
  // The errno of the failed write; 0 if none failed.
  int error() const { return error_; }

 private:
  void write_portion();

  int fd_;
  UniqueFd own_;
  size_t portion_;
  std::string pending_;
  size_t written_ = 0;  // of pending_
  int error_ = 0;
};

// Flushes standard output and error. Fails if they could not be written, unless only their reader is gone.
Result<void> finish(OutputBuffer& out, OutputBuffer& err);

}  // namespace cove::cli
