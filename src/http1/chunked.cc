#include "http1/chunked.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::http1 {
namespace {

constexpr std::string_view kBlank = " \t";

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size())); }

bool skip_token(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_token(text.substr(end, 1))) ++end;
  text.remove_prefix(end);
  return end > 0;
}

bool skip_quoted(std::string_view& text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// ";name=value;other=\"quoted\"", and blanks between.
bool are_extensions(std::string_view text) {
  for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
    if (text.front() != ';') return false;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!skip_token(text)) return false;
    skip_blanks(text);
    if (!text.starts_with('=')) continue;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!(text.starts_with('"') ? skip_quoted(text) : skip_token(text))) return false;
  }
  return true;
}

bool tells_framing(std::string_view line) {
  std::string_view name = line.substr(0, line.find(':'));
  return same_word(name, "content-length") || same_word(name, "transfer-encoding");
}

}  // namespace

std::string chunk_head(uint64_t size) {
  char digits[20];
  auto end = std::to_chars(digits, digits + 16, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return std::string(digits, end);
}

std::expected<uint64_t, Malformed> parse_chunk_size(std::string_view line, Padding padding) {
  const std::string_view bare = line.substr(0, line.find_last_not_of(kBlank) + 1);
  if (padding == Padding::Refused && bare.size() < line.size())
    return malformed("the size of a chunk is followed by blanks");
  uint64_t size = 0;
  auto [end, status] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const bool number = status == std::errc() && size <= INT64_MAX && !line.starts_with('-');
  if (!number) return malformed("the size of a chunk is malformed");
  if (!are_extensions(line.substr(static_cast<size_t>(end - line.data()))))
    return malformed("the extension of a chunk is malformed");
  return size;
}

std::expected<void, Malformed> ChunkedDecoder::take_size(std::string_view line) {
  auto size = parse_chunk_size(line, padding_);
  if (!size) return std::unexpected(std::move(size).error());
  left_ = *size;
  state_ = *size > 0 ? State::Data : State::Trailers;
  return {};
}

std::expected<void, Malformed> ChunkedDecoder::take_trailer(std::string_view line) {
  if (line.empty()) state_ = State::Done;
  if (line.empty()) return {};
  if (tells_framing(line)) return malformed("a trailer tells of framing");
  return parse_header(line, trailers_);
}

std::expected<void, Malformed> ChunkedDecoder::take_end(std::string_view line) {
  if (!line.empty()) return malformed("a chunk is longer than its size");
  state_ = State::Size;
  return {};
}

std::expected<void, Malformed> ChunkedDecoder::take_line(std::string_view line) {
  if (state_ == State::Trailers) return take_trailer(line);
  auto taken = state_ == State::Size ? take_size(line) : take_end(line);
  lines_ = LineReader(most_head_);  // each of these lines counts by itself
  return taken;
}

void ChunkedDecoder::pass(uint64_t count) {
  left_ -= count;
  if (left_ == 0) state_ = State::DataEnd;
}

std::expected<size_t, Malformed> ChunkedDecoder::feed(std::string_view& input, std::span<char> out) {
  size_t put = 0;
  while (!done() && !input.empty()) {
    if (state_ == State::Data) {
      size_t count = std::min<uint64_t>({left_, input.size(), out.size() - put});
      if (count == 0) break;
      std::memcpy(out.data() + put, input.data(), count);
      input.remove_prefix(count);
      put += count;
      pass(count);
      continue;
    }
    auto line = lines_.next(input);
    if (!line) return malformed(concat("the head of a chunk has ", line.error().reason));
    if (!*line) break;
    if (auto taken = take_line(**line); !taken) return std::unexpected(std::move(taken).error());
  }
  return put;
}

}  // namespace cove::http1
