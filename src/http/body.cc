#include "http/body.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "http/transfer.h"

namespace cove::http {
namespace {

constexpr uint64_t kMostDrained = 1024 * 1024;
constexpr uint64_t kSpliceFrom = 128 * 1024;  // below, a pipe costs more than it saves

std::unexpected<Error> cut_short() { return fail(Code::Unavailable, "the peer went in the middle of the body"); }

}  // namespace

Body::Body(Wire& wire, RequestParser& parser, milliseconds patience)
    : wire_(wire),
      parser_(parser),
      patience_(patience),
      left_(parser.head().framing.length),
      chunked_(parser.head().framing.chunked()),
      awaits_continue_(parser.head().expects_continue),
      whole_(parser.head().framing.empty()) {}

Result<void> Body::ask() {
  if (!awaits_continue_) return {};
  awaits_continue_ = false;
  if (answered_ || !wire_.buffered().empty()) return {};
  return wire_.stream().write("HTTP/1.1 100 Continue\r\n\r\n", patience_);
}

Result<size_t> Body::read(std::span<char> buffer) {
  if (failed_) return fail(Code::Unavailable, "the body could not be read");
  if (whole_ || buffer.empty()) return 0;
  failed_ = true;  // until it is known to be well
  COVE_TRY(ask());
  size_t count = COVE_TRY(chunked_ ? read_chunked(buffer) : read_known(buffer));
  failed_ = false;
  return count;
}

Result<std::optional<size_t>> Body::try_read(std::span<char> buffer) {
  if (failed_) return fail(Code::Unavailable, "the body could not be read");
  if (whole_ || buffer.empty()) return 0;
  failed_ = true;  // until it is known to be well
  COVE_TRY(ask());
  while (true) {
    if (!wire_.buffered().empty()) {
      size_t count = COVE_TRY(chunked_ ? decode(buffer) : read_known(buffer));
      failed_ = false;
      if (count > 0 || whole_) return count;
      failed_ = true;
    }
    Stream::Attempt attempt = COVE_TRY(wire_.try_fill());
    if (attempt.blocked) return failed_ = false, std::nullopt;
    if (attempt.bytes == 0) return cut_short();
  }
}

void Body::took(uint64_t count) {
  left_ -= count;
  whole_ = left_ == 0;
}

Result<size_t> Body::read_known(std::span<char> buffer) {
  buffer = buffer.first(std::min<uint64_t>(buffer.size(), left_));
  std::string_view early = wire_.buffered();
  size_t count = std::min(early.size(), buffer.size());
  if (count > 0) {
    std::memcpy(buffer.data(), early.data(), count);
    wire_.use(count);
  } else {
    count = COVE_TRY(wire_.stream().read(buffer, patience_));
    if (count == 0) return cut_short();
  }
  took(count);
  return count;
}

// Of what has come; 0 where that is too little.
Result<size_t> Body::decode(std::span<char> buffer) {
  std::string_view input = wire_.buffered();
  size_t before = input.size();
  auto piece = parser_.parse_chunked(input, buffer);
  wire_.use(before - input.size());
  if (!piece) return fail(Code::Invalid, piece.error().reason);
  whole_ = piece->done;
  return piece->bytes;
}

Result<size_t> Body::read_chunked(std::span<char> buffer) {
  for (;;) {
    size_t count = COVE_TRY(decode(buffer));
    if (count > 0 || whole_) return count;
    if (COVE_TRY(wire_.fill(patience_)) == 0) return cut_short();
  }
}

Result<std::string> Body::read_all(size_t most) {
  auto too_long = [&] { return fail(Code::Exhausted, concat("the body is longer than ", most, " bytes")); };
  if (left_ > most) return too_long();
  std::string all;
  all.reserve(left_);
  while (!whole_) {
    size_t have = all.size();
    // One byte more than allowed tells that it is too long.
    all.resize(have + std::min<uint64_t>(kTransferPiece, chunked_ ? most - have + (most < SIZE_MAX) : left_));
    size_t count = COVE_TRY(read(std::span(all).subspan(have)));
    all.resize(have + count);
    if (all.size() > most) return too_long();
  }
  return all;
}

Result<uint64_t> Body::read_to(int fd) {
  uint64_t total = 0;
  if (!failed_ && !chunked_ && left_ >= kSpliceFrom && wire_.stream().plain()) {
    COVE_TRY(ask());
    total = COVE_TRY(copy_to(fd, wire_.buffered().size()));
    total += COVE_TRY(splice_to(fd));
  }
  return total + COVE_TRY(copy_to(fd, UINT64_MAX));
}

Result<uint64_t> Body::copy_to(int fd, uint64_t most) {
  std::vector<char> piece(std::min<uint64_t>({kTransferPiece, chunked_ ? kTransferPiece : left_, most}));
  uint64_t total = 0;
  while (!whole_ && total < most) {
    size_t count = COVE_TRY(read(std::span(piece).first(std::min<uint64_t>(piece.size(), most - total))));
    COVE_TRY(write_all(fd, {piece.data(), count}, patience_));
    total += count;
  }
  return total;
}

// Nothing, or not all, where splice is not possible: the rest is to be copied.
Result<uint64_t> Body::splice_to(int fd) {
  auto pipe = SplicePipe::create();
  uint64_t total = 0;
  while (pipe && !whole_) {
    auto count = pipe->take(wire_.stream().socket(), left_, patience_);
    if (!count && count.error().code() == Code::Unsupported) break;
    failed_ = !count || *count == 0;
    if (!count) return fail(std::move(count).error());
    if (*count == 0) return cut_short();
    took(*count);
    COVE_TRY(pipe->give(fd, *count, patience_));
    total += *count;
  }
  return total;
}

bool Body::worth_draining() const { return !failed_ && !held_back() && left_ <= kMostDrained; }

bool Body::drain() {
  if (whole_) return true;
  if (!worth_draining()) return false;
  std::vector<char> piece(16 * 1024);
  for (uint64_t total = 0; !whole_ && total <= kMostDrained;) {
    auto count = read(piece);
    if (!count) return false;
    total += *count;
  }
  return whole_;
}

}  // namespace cove::http
