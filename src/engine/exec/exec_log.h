#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/exec/exec.h"
#include "run/retained.h"

namespace cove::engine {

// The output of one exec, in a file. docs/formats/exec-log.md describes it.
//
// What a program wrote into a pipe is moved into the file by splice(2), by the kernel, so that there is no moment at
// which a killed server would have it in its memory only. A program that writes more than kWindow leaves the oldest
// behind: those pieces are given back to the disk. The file is made by the first output.
//
// One thread appends; any thread reads.
class ExecLog {
 public:
  static constexpr uint64_t kWindow = 64 << 20;  // the most bytes that are kept for readers
  static constexpr uint64_t kSlackPart = 4;      // this part of the window more, until the oldest are let go of at once

  explicit ExecLog(std::string path) : path_(std::move(path)) {}

  // Continues with what a killed server left; nothing where there is no file.
  Result<void> recover();

  // Moves what is in the descriptor, a pipe or a terminal, up to about a megabyte; 0 at its end, nothing where there is
  // nothing now.
  Result<std::optional<size_t>> take(Stream stream, int source, uint64_t window = kWindow);

  // The same of what this process has.
  Result<void> add(Stream stream, std::string_view data, uint64_t window = kWindow);

  uint64_t next_seq() const { return next_seq_.load(std::memory_order_acquire); }
  uint64_t end() const { return end_.load(std::memory_order_acquire); }
  uint64_t bytes() const { return out_bytes_ + err_bytes_; }
  // Bytes in the file.
  uint64_t kept() const { return end() - start_.load(std::memory_order_acquire); }

  // A reader's place.
  struct Position {
    uint64_t seq = 1;
    uint64_t offset = 0;
  };
  Result<Position> find(uint64_t seq);
  // Pieces from there on, at most about `most` bytes, and moves the place behind them.
  Result<std::vector<Chunk>> read(Position& from, size_t most);

  // Head and tail of both streams, as a result has them.
  struct Captured {
    CapturedStream out;
    CapturedStream err;
  };
  Result<Captured> capture(uint64_t retained);

  // Lets go of all output of an ended exec. Whoever reads it already has it to the end.
  static void empty(const std::string& path);

 private:
  struct Frame {
    uint64_t offset = 0;  // of its data
    uint64_t size = 0;
    uint64_t seq = 0;
    Stream stream = Stream::Out;
    uint64_t next() const { return offset + size; }
  };

  Result<void> create();
  Result<std::optional<Frame>> frame_at(uint64_t offset) const;
  Result<size_t> move_pipe(int source, uint64_t offset) const;
  Result<size_t> move_terminal(int source, uint64_t offset) const;
  Result<void> add_frame(Stream stream, std::string_view data, uint64_t window);
  Result<void> count_frame(Stream stream, uint64_t size, uint64_t window);
  Result<void> let_go(uint64_t window);
  Result<void> open_existing();
  Result<void> write_head(uint64_t start, uint64_t first_seq);

  std::string path_;
  UniqueFd file_;
  std::atomic<bool> made_ = false;
  std::atomic<uint64_t> end_ = 0;    // behind the last whole frame
  std::atomic<uint64_t> start_ = 0;  // the first frame that is kept
  std::atomic<uint64_t> next_seq_ = 1;
  uint64_t out_bytes_ = 0;
  uint64_t err_bytes_ = 0;
  uint64_t dropped_out_ = 0;
  uint64_t dropped_err_ = 0;
  std::optional<Retained> old_out_;  // of what was let go
  std::optional<Retained> old_err_;
};

}  // namespace cove::engine
