#include "client/body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr size_t kPortion = 256 * 1024;

std::unexpected<Error> broke_off() { return fail(Code::Unavailable, "the server's answer broke off"); }

}  // namespace

std::unexpected<Error> no_http(const http1::Malformed& why) {
  return fail(Code::Internal, concat("the server's answer is not HTTP/1.1: ", why.reason));
}

Result<Body> body_of(Connection& connection, const ResponseHead& head, std::string_view method) {
  auto framing = http1::framing_of(head, method);
  if (!framing) return no_http(framing.error());
  return Body(connection, *framing);
}

Body::Body(Connection& connection, const Framing& framing)
    : connection_(&connection), framing_(framing), left_(framing.length), ended_(framing.empty()) {}

std::optional<uint64_t> Body::length() const {
  if (framing_.kind != Framing::Kind::Length) return std::nullopt;
  return framing_.length;
}

Result<size_t> Body::read(char* data, size_t size) {
  if (ended_ || size == 0) return 0;
  switch (framing_.kind) {
    case Framing::Kind::Length:
      return read_known(data, size);
    case Framing::Kind::Chunked:
      return read_chunked(data, size);
    case Framing::Kind::UntilClose:
      return read_until_close(data, size);
  }
  return 0;
}

Result<size_t> Body::read_known(char* data, size_t size) {
  size_t count = COVE_TRY(read_raw(data, static_cast<size_t>(std::min<uint64_t>(size, left_))));
  if (count == 0) return broke_off();
  left_ -= count;
  ended_ = left_ == 0;
  return count;
}

Result<size_t> Body::read_until_close(char* data, size_t size) {
  size_t count = COVE_TRY(read_raw(data, size));
  ended_ = count == 0;
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

Result<size_t> Body::read_chunked(char* data, size_t size) {
  while (true) {
    size_t count = COVE_TRY(decode({data, size}));
    if (count > 0 || ended_) return count;
    if (chunks_.left() > 0) break;
    if (!COVE_TRY(connection_->fill())) return broke_off();
  }
  // The buffer is empty, and what comes next is data: it need not go through there.
  size_t count = COVE_TRY(connection_->read(data, static_cast<size_t>(std::min<uint64_t>(size, chunks_.left()))));
  if (count == 0) return broke_off();
  chunks_.pass(count);
  return count;
}

Result<size_t> Body::decode(std::span<char> out) {
  std::string_view input = connection_->unread();
  const size_t before = input.size();
  auto count = chunks_.feed(input, out);
  if (!count) return no_http(count.error());
  connection_->take(before - input.size());
  ended_ = chunks_.done();
  return *count;
}

Result<bool> Body::ready() {
  if (!ended_ && framing_.chunked()) COVE_TRY(decode({}));
  return !ended_ && !connection_->unread().empty();
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
  if (framing_ == Framing::Kind::Chunked) COVE_TRY(connection_.write(http1::chunk_head(data.size())));
  COVE_TRY(connection_.write(data));
  if (framing_ == Framing::Kind::Chunked) COVE_TRY(connection_.write(http1::kChunkEnd));
  if (progress_) progress_(data.size());
  return {};
}

Result<void> BodyWriter::write_file(int file, uint64_t count) {
  if (count == 0) return {};
  COVE_TRY(check_wanted());
  if (framing_ == Framing::Kind::Chunked) COVE_TRY(connection_.write(http1::chunk_head(count)));
  COVE_TRY(connection_.write_file(file, count, progress_));
  if (framing_ == Framing::Kind::Chunked) COVE_TRY(connection_.write(http1::kChunkEnd));
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
  if (framing_ == Framing::Kind::Chunked) return connection_.write(http1::kLastChunk);
  return {};
}

}  // namespace cove::client
