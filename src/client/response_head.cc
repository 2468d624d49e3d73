#include "client/response_head.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace cove::client {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::Internal, concat("the server's answer is not HTTP/1.1: ", what));
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_token_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kTokenMarks.find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}
bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// "HTTP/1.1 200 OK".
Result<void> parse_status_line(std::string_view line, ResponseHead& head) {
  bool versioned = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  if (!versioned || line.size() < 12) return malformed("its first line");
  std::string_view digits = line.substr(9, 3);
  bool number = std::all_of(digits.begin(), digits.end(), is_digit) && digits[0] != '0';
  if (!number || (line.size() > 12 && line[12] != ' ')) return malformed("its status");
  head.status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
  head.keeps_alive = line[7] == '1';
  return {};
}

Result<void> parse_header(std::string_view line, ResponseHead& head) {
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return malformed("the name of a header");
  std::string_view value = trim(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), is_control)) return malformed("the value of a header");
  head.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return {};
}

Result<uint64_t> parse_length(std::string_view text) {
  uint64_t length = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (status != std::errc() || end != text.data() + text.size() || length > INT64_MAX || !is_digit(text[0]))
    return malformed("its Content-Length");
  return length;
}

bool has_no_body(int status, std::string_view method) {
  return method == "HEAD" || status < 200 || status == 204 || status == 304;
}

}  // namespace

std::string_view ResponseHead::header(std::string_view name) const {
  auto found = std::find_if(headers.begin(), headers.end(), [&](auto& each) { return same_word(each.name, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

std::optional<size_t> head_size(std::string_view buffer) {
  size_t end = buffer.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kEnd.size();
}

Result<ResponseHead> parse_response_head(std::string_view text) {
  ResponseHead head;
  size_t begin = 0;
  while (true) {
    size_t end = text.find("\r\n", begin);
    if (end == std::string_view::npos) return malformed("its end");
    std::string_view line = text.substr(begin, end - begin);
    if (begin == 0)
      COVE_TRY(parse_status_line(line, head));
    else if (line.empty())
      break;
    else
      COVE_TRY(parse_header(line, head));
    begin = end + 2;
  }
  if (same_word(head.header("connection"), "close")) head.keeps_alive = false;
  return head;
}

Result<Framing> framing_of(const ResponseHead& head, std::string_view method) {
  if (has_no_body(head.status, method)) return Framing{};
  std::optional<uint64_t> length;
  bool chunked = false;
  for (const Header& header : head.headers) {
    if (same_word(header.name, "transfer-encoding")) {
      if (chunked || !same_word(header.value, "chunked")) return malformed("its Transfer-Encoding");
      chunked = true;
    } else if (same_word(header.name, "content-length")) {
      uint64_t told = COVE_TRY(parse_length(header.value));
      if (length && *length != told) return malformed("two lengths");
      length = told;
    }
  }
  if (chunked && length) return malformed("a length and chunks");
  if (chunked) return Framing{Framing::Kind::Chunked, 0};
  if (length) return Framing{Framing::Kind::Length, *length};
  return Framing{Framing::Kind::UntilClose, 0};
}

Result<uint64_t> parse_chunk_size(std::string_view line) {
  std::string_view digits = trim(line.substr(0, line.find(';')));
  uint64_t size = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (digits.empty() || status != std::errc() || end != digits.data() + digits.size() || size > INT64_MAX)
    return malformed("the size of a chunk");
  return size;
}

}  // namespace cove::client
