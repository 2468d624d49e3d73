#include "client/body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr size_t kMaxLine = 8192;
constexpr size_t kPortion = 256 * 1024;

std::string hexadecimal(uint64_t number) {
  char digits[20];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
}

}  // namespace

std::optional<uint64_t> Body::length() const {
  if (framing_.kind != Framing::Kind::Length) return std::nullopt;
  return framing_.length;
}

Result<size_t> Body::read(char* data, size_t size) {
  if (ended_ || size == 0) return 0;
  if (framing_.kind == Framing::Kind::Chunked && left_ == 0) {
    COVE_TRY(begin_chunk());
    if (ended_) return 0;
  }
  return read_part(data, size);
}

bool Body::ready() const {
  std::string_view unread = connection_->unread();
  if (ended_ || framing_.kind != Framing::Kind::Chunked || left_ > 0) return !ended_ && !unread.empty();
  constexpr std::string_view kLineEnd = "\r\n";
  if (within_chunks_) unread.remove_prefix(std::min(unread.size(), kLineEnd.size()));
  return unread.find(kLineEnd) != std::string_view::npos;
}

Result<size_t> Body::read_part(char* data, size_t size) {
  bool bounded = framing_.kind != Framing::Kind::UntilClose;
  size_t wanted = bounded ? static_cast<size_t>(std::min<uint64_t>(size, left_)) : size;
  size_t count = COVE_TRY(read_raw(data, wanted));
  if (count == 0 && bounded) return fail(Code::Unavailable, "the server's answer broke off");
  if (count == 0) ended_ = true;
  if (bounded) left_ -= count;
  if (framing_.kind == Framing::Kind::Length && left_ == 0) ended_ = true;
  return count;
}

// What is in the buffer first.
Result<size_t> Body::read_raw(char* data, size_t size) {
  std::string_view unread = connection_->unread();
  if (unread.empty()) return connection_->read(data, size);
  size_t count = std::min(size, unread.size());
  std::memcpy(data, unread.data(), count);
  connection_->take(count);
  return count;
}

Result<std::string> Body::read_line() {
  while (true) {
    std::string_view unread = connection_->unread();
    size_t end = unread.find("\r\n");
    if (end != std::string_view::npos) {
      std::string line(unread.substr(0, end));
      connection_->take(end + 2);
      return line;
    }
    if (unread.size() > kMaxLine) return fail(Code::Internal, "the server's answer has a line that is too long");
    if (!COVE_TRY(connection_->fill())) return fail(Code::Unavailable, "the server's answer broke off");
  }
}

Result<void> Body::begin_chunk() {
  if (within_chunks_ && !COVE_TRY(read_line()).empty())
    return fail(Code::Internal, "the server's answer is not HTTP/1.1: the end of a chunk");
  left_ = COVE_TRY(parse_chunk_size(COVE_TRY(read_line())));
  within_chunks_ = true;
  if (left_ == 0) return skip_trailers();
  return {};
}

Result<void> Body::skip_trailers() {
  for (size_t lines = 0; lines < 100; ++lines) {
    if (!COVE_TRY(read_line()).empty()) continue;
    ended_ = true;
    return {};
  }
  return fail(Code::Internal, "the server's answer has too many trailers");
}

Result<std::string> Body::read_all(size_t most) {
  std::string text;
  char data[16384];
  while (true) {
    size_t count = COVE_TRY(read(data, sizeof data));
    if (count == 0) return text;
    if (text.size() + count > most) return fail(Code::Exhausted, concat("the server's answer is larger than ", most));
    text.append(data, count);
  }
}

Result<uint64_t> Body::copy_to(int file, const Progress& progress) {
  std::vector<char> data(kPortion);
  uint64_t total = 0;
  while (true) {
    size_t count = COVE_TRY(read(data.data(), data.size()));
    if (count == 0) return total;
    COVE_TRY(sys::write_all(file, {data.data(), count}));
    total += count;
    if (progress) progress(count);
  }
}

Result<void> BodyWriter::check_wanted() const {
  if (!connection_.has_news()) return {};
  return fail(Code::Unavailable, "the server did not take all of it");
}

Result<void> BodyWriter::write(std::string_view data) {
  if (data.empty()) return {};
  COVE_TRY(check_wanted());
  if (framing_ == Framing::Chunked) COVE_TRY(connection_.write(concat(hexadecimal(data.size()), "\r\n")));
  COVE_TRY(connection_.write(data));
  if (framing_ == Framing::Chunked) COVE_TRY(connection_.write("\r\n"));
  if (progress_) progress_(data.size());
  return {};
}

Result<void> BodyWriter::write_file(int file, uint64_t count) {
  if (count == 0) return {};
  COVE_TRY(check_wanted());
  if (framing_ == Framing::Chunked) COVE_TRY(connection_.write(concat(hexadecimal(count), "\r\n")));
  COVE_TRY(connection_.write_file(file, count, progress_));
  if (framing_ == Framing::Chunked) COVE_TRY(connection_.write("\r\n"));
  return {};
}

Result<void> BodyWriter::write_rest(int file) {
  std::vector<char> data(kPortion);
  while (true) {
    ssize_t count = ::read(file, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("read ", sys::fd_path(file)));
    if (count == 0) return {};
    COVE_TRY(write({data.data(), static_cast<size_t>(count)}));
  }
}

Result<void> BodyWriter::end() {
  if (framing_ == Framing::Chunked) return connection_.write("0\r\n\r\n");
  return {};
}

}  // namespace cove::client
