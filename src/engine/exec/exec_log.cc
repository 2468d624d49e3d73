#include "engine/exec/exec_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crash_point.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr uint32_t kFrameMagic = 0x31764f43;         // "COv1"
constexpr uint64_t kFileMagic = 0x31676f4c65766f43;  // "CoveLog1"
constexpr size_t kMost = 1 << 20;
constexpr uint64_t kOldRetained = 2 << 20;  // of what was let go, for each stream

struct Head {
  uint64_t magic;
  uint64_t start;  // the first frame that is kept
  uint64_t first_seq;
  uint64_t dropped_out;  // bytes before it
  uint64_t dropped_err;
};

struct FrameHead {
  uint32_t magic;
  uint32_t stream;
  uint64_t seq;
  uint64_t size;  // 0 while it is being written
};

Result<void> write_at(int file, const void* data, size_t size, uint64_t offset) {
  if (::pwrite(file, data, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size)) return {};
  return fail_errno("write the log of an exec");
}

bool read_at(int file, void* data, size_t size, uint64_t offset) {
  return ::pread(file, data, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

}  // namespace

Result<void> ExecLog::write_head(uint64_t start, uint64_t first_seq) {
  Head head = {kFileMagic, start, first_seq, dropped_out_, dropped_err_};
  return write_at(file_.get(), &head, sizeof head, 0);
}

Result<void> ExecLog::create() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  Result<UniqueFd> file = sys::open(path_, kFlags, 0600);
  if (!file && file.error().code() == Code::NotFound) {
    COVE_TRY(sys::make_folders(path_.substr(0, path_.rfind('/')), 0700));
    file = sys::open(path_, kFlags, 0600);
  }
  file_ = COVE_TRY(std::move(file));
  COVE_TRY(write_head(sizeof(Head), 1));
  start_ = end_ = sizeof(Head);
  made_.store(true, std::memory_order_release);
  return {};
}

Result<void> ExecLog::open_existing() {
  Result<UniqueFd> file = sys::open(path_, O_RDWR | O_NOFOLLOW);
  if (!file && file.error().code() == Code::NotFound) return {};
  file_ = COVE_TRY(std::move(file));
  Head head;
  // Killed while it was being made: nothing was in it yet.
  if (!read_at(file_.get(), &head, sizeof head, 0) || head.magic != kFileMagic) {
    head = {kFileMagic, sizeof(Head), 1, 0, 0};
    COVE_TRY(write_at(file_.get(), &head, sizeof head, 0));
  }
  start_ = end_ = head.start;
  next_seq_ = head.first_seq;
  dropped_out_ = out_bytes_ = head.dropped_out;
  dropped_err_ = err_bytes_ = head.dropped_err;
  made_ = true;
  return {};
}

Result<void> ExecLog::recover() {
  COVE_TRY(open_existing());
  if (!made_) return {};
  uint64_t size = static_cast<uint64_t>(COVE_TRY(sys::fstat(file_.get())).st_size);
  while (true) {
    std::optional<Frame> frame = COVE_TRY(frame_at(end_));
    if (!frame) return {};
    if (frame->size == 0) {
      // The server was killed within this frame: what the kernel had moved is in the file.
      if (size <= frame->offset) return {};
      frame->size = size - frame->offset;
      FrameHead head = {kFrameMagic, static_cast<uint32_t>(frame->stream), frame->seq, frame->size};
      COVE_TRY(write_at(file_.get(), &head, sizeof head, end_));
    }
    (frame->stream == Stream::Out ? out_bytes_ : err_bytes_) += frame->size;
    end_ = frame->next();
    next_seq_ = frame->seq + 1;
  }
}

Result<std::optional<ExecLog::Frame>> ExecLog::frame_at(uint64_t offset) const {
  FrameHead head;
  if (!read_at(file_.get(), &head, sizeof head, offset) || head.magic != kFrameMagic) return std::optional<Frame>();
  return Frame{offset + sizeof head, head.size, head.seq, head.stream == 2 ? Stream::Err : Stream::Out};
}

Result<size_t> ExecLog::move_pipe(int source, uint64_t offset) const {
  auto to = static_cast<loff_t>(offset);
  ssize_t moved = ::splice(source, nullptr, file_.get(), &to, kMost, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (moved < 0) return fail_errno("move output into the log of an exec");
  return static_cast<size_t>(moved);
}

Result<size_t> ExecLog::move_terminal(int source, uint64_t offset) const {
  char buffer[65536];
  ssize_t count = ::read(source, buffer, sizeof buffer);
  // A terminal whose programs have all gone says so by an error.
  if (count < 0 && errno == EIO) return size_t{0};
  if (count < 0) return fail_errno("read from a terminal");
  COVE_TRY(write_at(file_.get(), buffer, static_cast<size_t>(count), offset));
  return static_cast<size_t>(count);
}

Result<std::optional<size_t>> ExecLog::take(Stream stream, int source, uint64_t window) {
  struct stat info = {};
  if (::fstat(source, &info) < 0) return fail_errno("fstat of an exec's output");
  if (!made_) COVE_TRY(create());
  FrameHead head = {kFrameMagic, static_cast<uint32_t>(stream), next_seq_, 0};
  uint64_t data = end_ + sizeof head;
  COVE_TRY(write_at(file_.get(), &head, sizeof head, end_));
  crash_point("log.frame.opened");
  Result<size_t> moved = S_ISFIFO(info.st_mode) ? move_pipe(source, data) : move_terminal(source, data);
  if (!moved && (moved.error().errnum() == EAGAIN || moved.error().errnum() == EINTR)) return std::optional<size_t>();
  if (!moved) return std::unexpected(moved.error());
  crash_point("log.frame.moved");
  if (*moved == 0) return std::optional<size_t>(0);
  head.size = *moved;
  COVE_TRY(write_at(file_.get(), &head, sizeof head, end_));
  crash_point("log.frame.closed");
  COVE_TRY(count_frame(stream, *moved, window));
  return std::optional<size_t>(*moved);
}

Result<void> ExecLog::count_frame(Stream stream, uint64_t size, uint64_t window) {
  (stream == Stream::Out ? out_bytes_ : err_bytes_) += size;
  end_.store(end_ + sizeof(FrameHead) + size, std::memory_order_release);
  next_seq_.fetch_add(1, std::memory_order_release);
  if (kept() > window + window / kSlackPart) return let_go(window);
  return {};
}

Result<void> ExecLog::add(Stream stream, std::string_view data, uint64_t window) {
  if (!made_ && !data.empty()) COVE_TRY(create());
  for (; !data.empty(); data.remove_prefix(std::min(data.size(), kMost)))
    COVE_TRY(add_frame(stream, data.substr(0, kMost), window));
  return {};
}

// The head comes last: without it there is no frame.
Result<void> ExecLog::add_frame(Stream stream, std::string_view data, uint64_t window) {
  const FrameHead head = {kFrameMagic, static_cast<uint32_t>(stream), next_seq_, data.size()};
  COVE_TRY(write_at(file_.get(), data.data(), data.size(), end_ + sizeof head));
  COVE_TRY(write_at(file_.get(), &head, sizeof head, end_));
  return count_frame(stream, data.size(), window);
}

// Gives the oldest pieces back to the disk; what a result may need of them is kept.
Result<void> ExecLog::let_go(uint64_t window) {
  if (!old_out_) old_out_.emplace(kOldRetained), old_err_.emplace(kOldRetained);
  uint64_t from = start_;
  uint64_t keep_from = end_ - window;
  uint64_t at = from;
  uint64_t first_seq = 1;
  while (at < keep_from) {
    std::optional<Frame> frame = COVE_TRY(frame_at(at));
    if (!frame || frame->size == 0) break;
    std::string data(frame->size, '\0');
    if (!read_at(file_.get(), data.data(), data.size(), frame->offset)) return fail_errno("read the log of an exec");
    (frame->stream == Stream::Out ? *old_out_ : *old_err_).add(data);
    (frame->stream == Stream::Out ? dropped_out_ : dropped_err_) += frame->size;
    at = frame->next();
    first_seq = frame->seq + 1;
  }
  if (at == from) return {};
  COVE_TRY(write_head(at, first_seq));
  start_.store(at, std::memory_order_release);
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
              static_cast<off_t>(at - from));
  return {};
}

Result<ExecLog::Position> ExecLog::find(uint64_t seq) {
  if (!made_.load(std::memory_order_acquire)) return Position{seq, 0};
  const uint64_t next = next_seq();  // before the end is asked for: what comes meanwhile is not passed over
  Position at{seq, start_};
  while (at.offset < end()) {
    std::optional<Frame> frame = COVE_TRY(frame_at(at.offset));
    if (!frame || frame->size == 0 || frame->seq >= seq) break;
    at.offset = frame->next();
  }
  // Nothing of it is kept: the next piece is the first to come.
  if (at.offset >= end()) at.seq = std::max(at.seq, next);
  return at;
}

Result<std::vector<Chunk>> ExecLog::read(Position& from, size_t most) {
  std::vector<Chunk> chunks;
  if (!made_.load(std::memory_order_acquire)) return chunks;
  // Behind what was let go meanwhile, or at the first piece.
  if (from.offset < start_.load(std::memory_order_acquire)) from = COVE_TRY(find(from.seq));
  size_t total = 0;
  while (from.offset < end() && total < most) {
    std::optional<Frame> frame = COVE_TRY(frame_at(from.offset));
    if (!frame || frame->size == 0) break;
    if (frame->seq >= from.seq) {
      Chunk chunk{frame->seq, frame->stream, std::string(frame->size, '\0')};
      if (!read_at(file_.get(), chunk.data.data(), chunk.data.size(), frame->offset)) break;
      total += frame->size;
      chunks.push_back(std::move(chunk));
    }
    from = {std::max(from.seq, frame->seq + 1), frame->next()};
  }
  return chunks;
}

Result<ExecLog::Captured> ExecLog::capture(uint64_t retained) {
  Retained out = old_out_ ? *old_out_ : Retained(retained);
  Retained err = old_err_ ? *old_err_ : Retained(retained);
  if (!old_out_) out.skip(dropped_out_), err.skip(dropped_err_);
  uint64_t left_out = out_bytes_ - dropped_out_;
  uint64_t left_err = err_bytes_ - dropped_err_;
  for (uint64_t at = start_; made_ && at < end();) {
    std::optional<Frame> frame = COVE_TRY(frame_at(at));
    if (!frame || frame->size == 0) break;
    Retained& stream = frame->stream == Stream::Out ? out : err;
    uint64_t& left = frame->stream == Stream::Out ? left_out : left_err;
    left -= frame->size;
    if (stream.can_skip(left)) {
      stream.skip(frame->size);
    } else {
      std::string data(frame->size, '\0');
      if (!read_at(file_.get(), data.data(), data.size(), frame->offset)) return fail_errno("read the log of an exec");
      stream.add(data);
    }
    at = frame->next();
  }
  return Captured{out.take(), err.take()};
}

// By a file in its place, so that nobody finds a half of it.
void ExecLog::empty(const std::string& path) {
  ExecLog old(path);
  if (!old.recover() || !old.made_) return;
  ExecLog fresh(path + ".empty");
  if (!fresh.create()) return;
  fresh.dropped_out_ = old.out_bytes_;
  fresh.dropped_err_ = old.err_bytes_;
  if (fresh.write_head(sizeof(Head), old.next_seq_)) static_cast<void>(sys::rename(fresh.path_, path));
  ::unlink(fresh.path_.c_str());
}

}  // namespace cove::engine
