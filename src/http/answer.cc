#include "http/answer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "http/answer_head.h"
#include "http/transfer.h"
#include "http1/chunked.h"

namespace cove::http {
namespace {

using More = Stream::More;

// Less leaves sooner with the head in one piece. (On Unix sockets sendfile is slower than copying, always.)
constexpr uint64_t kSendfileFrom = 128 * 1024;

iovec piece_of(std::string_view data) {
  return {.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};  // sendmsg only reads it
}

bool never_has_body(int status) { return status < 200 || status == 204 || status == 304; }

bool asks_to_close(const Headers& headers) { return http1::any_lists_word(headers, "connection", "close"); }

// Some bytes of a file: at the offset where it has such, else the next ones. 0 at its end.
Result<size_t> read_some(int fd, std::span<char> buffer, uint64_t offset, bool seekable, milliseconds patience) {
  for (;;) {
    ssize_t count = seekable ? ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset))
                             : ::read(fd, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno("read the file to be sent");
    if (!poll_for(fd, POLLIN, deadline_in(patience))) return fail(Code::Unavailable, "nothing comes to be sent");
  }
}

}  // namespace

Result<void> Answer::check_fresh() const {
  if (state_ != State::Fresh) return fail(Code::Internal, "the request has been answered already");
  return {};
}

Result<void> Answer::noted(Result<void> result) {
  if (!result) state_ = State::Broken;
  return result;
}

Result<void> Answer::put(std::span<iovec> pieces, More more) {
  return noted(wire_.stream().write(pieces, patience_, more));
}

Result<void> Answer::put(std::string_view data, More more) {
  return noted(wire_.stream().write(data, patience_, more));
}

std::string Answer::make_head(int status, const Headers& headers, std::optional<uint64_t> length) {
  bool until_close = !length && !question_.http11;
  keep_ = keep_ && !until_close && !wire_.stopping() && !asks_to_close(headers);
  status_ = status;
  bodiless_ = question_.head || never_has_body(status);
  AnswerHead head(status);
  if (dated_) head.add("Date", http_date());
  head.add(headers);
  if (!question_.request_id.empty()) head.add("X-Request-Id", question_.request_id);
  if (!never_has_body(status)) {
    if (length) head.add("Content-Length", concat(*length));
    if (!length && !until_close) head.add("Transfer-Encoding", "chunked");
  }
  if (!keep_) head.add("Connection", "close");
  if (keep_ && !question_.http11) head.add("Connection", "keep-alive");
  return head.take();
}

Result<void> Answer::respond(int status, const Headers& headers, std::string_view body) {
  COVE_TRY(check_fresh());
  std::string head = make_head(status, headers, body.size());
  state_ = State::Ended;
  iovec pieces[] = {piece_of(head), piece_of(body)};
  return put({pieces, bodiless_ ? 1u : 2u});
}

Result<void> Answer::begin(int status, const Headers& headers, std::optional<uint64_t> length) {
  COVE_TRY(check_fresh());
  held_ = make_head(status, headers, length);
  state_ = length || bodiless_ ? State::Known : question_.http11 ? State::Chunked : State::UntilClose;
  left_ = bodiless_ ? 0 : length.value_or(0);
  // A body of known length comes at once; when the pieces of another come, nobody knows.
  return state_ == State::Known ? Result<void>() : flush();
}

Result<void> Answer::switch_protocols(const Headers& headers) {
  COVE_TRY(check_fresh());
  status_ = 101;
  keep_ = false;
  state_ = State::Ended;
  AnswerHead head(101);
  head.add("Connection", "Upgrade").add(headers);
  if (!question_.request_id.empty()) head.add("X-Request-Id", question_.request_id);
  return put(head.take());
}

Result<void> Answer::flush() {
  if (held_.empty()) return {};
  std::string head = std::exchange(held_, {});
  return put(head);
}

// Before so many bytes of the body are sent.
Result<void> Answer::reserve(uint64_t count) {
  if (state_ == State::Broken) return fail(Code::Unavailable, "the answer could not be sent");
  if (state_ == State::Fresh || state_ == State::Ended) return fail(Code::Internal, "no answer is being sent");
  if (state_ == State::Known && count > left_)
    return noted(fail(Code::Internal, "the body is longer than was announced"));
  if (state_ == State::Known) left_ -= count;
  return {};
}

Result<void> Answer::write(std::string_view data) {
  if (bodiless_ && begun()) return {};
  COVE_TRY(reserve(data.size()));
  if (data.empty()) return {};
  std::string head = std::exchange(held_, {});
  bool chunked = state_ == State::Chunked;
  std::string size = chunked ? http1::chunk_head(data.size()) : std::string();
  iovec pieces[] = {piece_of(head), piece_of(size), piece_of(data), piece_of(chunked ? http1::kChunkEnd : "")};
  return put(pieces);
}

Result<void> Answer::send_file(int fd, uint64_t offset, uint64_t count) {
  if ((bodiless_ && begun()) || count == 0) return {};
  struct stat info = {};
  if (::fstat(fd, &info) < 0) return fail_errno("fstat the file to be sent");
  if (!S_ISREG(info.st_mode)) return copy_from(fd, offset, count);
  uint64_t size = static_cast<uint64_t>(info.st_size);
  if (offset > size || count > size - offset) return fail(Code::Invalid, "the file to be sent is shorter than that");
  bool by_kernel = count >= kSendfileFrom && wire_.stream().plain() && !is_unix(wire_.stream().socket());
  return by_kernel ? send_from(fd, offset, count) : copy_from(fd, offset, count);
}

Result<void> Answer::send_from(int fd, uint64_t offset, uint64_t count) {
  COVE_TRY(reserve(count));
  std::string before = std::exchange(held_, {});
  bool chunked = state_ == State::Chunked;
  if (chunked) before += http1::chunk_head(count);
  COVE_TRY(put(before, More::Follows));
  COVE_TRY(noted(send_regular(wire_.stream().socket(), fd, offset, count, patience_)));
  return put(chunked ? http1::kChunkEnd : "");
}

Result<void> Answer::copy_from(int fd, uint64_t offset, uint64_t count) {
  bool seekable = ::lseek(fd, 0, SEEK_CUR) >= 0;
  std::vector<char> piece(std::min<uint64_t>(count, kTransferPiece));
  if (count > kTransferPiece) widen(wire_.stream().socket());
  while (count > 0) {
    std::span room = std::span(piece).first(std::min<uint64_t>(count, piece.size()));
    size_t got = COVE_TRY(read_some(fd, room, offset, seekable, patience_));
    if (got == 0) return fail(Code::Internal, "the file to be sent ended early");
    COVE_TRY(write({piece.data(), got}));
    offset += got;
    count -= got;
  }
  return {};
}

Result<void> Answer::end() {
  if (state_ == State::Ended) return {};
  if (state_ == State::Fresh) return fail(Code::Internal, "no answer has been begun");
  if (state_ == State::Broken) return fail(Code::Unavailable, "the answer could not be sent");
  COVE_TRY(flush());
  if (left_ > 0) return noted(fail(Code::Internal, "the body is shorter than was announced"));
  State was = std::exchange(state_, State::Ended);
  return was == State::Chunked ? put(http1::kLastChunk) : Result<void>();
}

}  // namespace cove::http
