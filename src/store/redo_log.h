#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove {

// A file of changes that are not committed to the database yet: one write for each, and none of them is synced. It
// holds one batch at a time; the batch says after which other one it comes (docs/formats/redo-log.md). Used by one
// thread at a time.
class RedoLog {
 public:
  // Makes the file where there is none. What is no log counts as an empty one.
  static Result<RedoLog> open(const std::string& path);

  // Of the batch that the file holds: the one before it, and its own. 0 where it holds none.
  uint64_t previous() const { return previous_; }
  uint64_t batch() const { return batch_; }
  uint64_t bytes() const { return end_ - kHeader; }  // of its records
  bool empty() const { return bytes() == 0; }

  // Begins another batch, in place of the one before.
  Result<void> restart(uint64_t previous, uint64_t batch);
  // Whole or not at all, also after `kill -9`.
  Result<void> append(std::string_view record);
  // The whole ones, in order.
  Result<std::vector<std::string>> records() const;

 private:
  static constexpr uint64_t kHeader = 24;

  RedoLog(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<void> read_header();
  Result<void> write(std::string_view bytes, uint64_t at);

  UniqueFd file_;
  std::string path_;
  uint64_t previous_ = 0;
  uint64_t batch_ = 0;
  uint64_t end_ = kHeader;  // where the next record goes
};

}  // namespace cove
