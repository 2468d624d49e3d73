#include "http1/head.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::http1 {
namespace {

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

constexpr std::array<bool, 256> make_token_characters() {
  std::array<bool, 256> table = {};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  for (char c : kTokenMarks) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kTokenCharacters = make_token_characters();

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// RFC 9112, 5: spaces and tabs only.
std::string_view trim_blanks(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

void append_on_one_line(std::string& text, std::string_view piece) {
  size_t from = text.size();
  text += piece;
  auto breaks = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  std::replace_if(text.begin() + static_cast<ptrdiff_t>(from), text.end(), breaks, ' ');
}

}  // namespace

std::unexpected<Malformed> malformed(std::string reason) { return malformed(400, std::move(reason)); }

std::unexpected<Malformed> malformed(int status, std::string reason) {
  return std::unexpected(Malformed{status, std::move(reason)});
}

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  auto found =
      std::find_if(headers.begin(), headers.end(), [&](auto& header) { return same_word(header.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

size_t count_headers(const Headers& headers, std::string_view name) {
  return static_cast<size_t>(
      std::count_if(headers.begin(), headers.end(), [&](auto& header) { return same_word(header.first, name); }));
}

bool any_lists_word(const Headers& headers, std::string_view name, std::string_view word) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](auto& header) { return same_word(header.first, name) && lists_word(header.second, word); });
}

bool is_token(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; });
}

std::expected<void, Malformed> parse_header(std::string_view line, Headers& headers) {
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return malformed("the name of a header is malformed");
  headers.emplace_back(line.substr(0, colon), trim_blanks(line.substr(colon + 1)));
  return {};
}

std::expected<std::optional<std::string_view>, Malformed> LineReader::next(std::string_view& input) {
  const size_t end = input.find('\n');
  const bool ends = end != std::string_view::npos;
  std::string_view piece = input.substr(0, ends ? end + 1 : end);
  if (piece.size() > left_) return malformed(431, "too many bytes");
  left_ -= piece.size();
  input.remove_prefix(piece.size());
  const bool after_return = begun_.ends_with('\r'), line_end = piece == "\n";
  begun_ += piece;
  if (ends && !begun_.ends_with("\r\n")) return malformed("a line end other than CRLF");
  if (ends) piece.remove_suffix(1);
  if (piece.ends_with('\r')) piece.remove_suffix(1);
  if ((after_return && !line_end) || std::any_of(piece.begin(), piece.end(), is_control))
    return malformed("a control character");
  if (!ends) return std::nullopt;
  begun_.resize(begun_.size() - 2);
  line_.swap(begun_);
  begun_.clear();
  return line_;
}

std::expected<bool, Malformed> HeadReader::feed(std::string_view& input) {
  while (!whole_ && !input.empty()) {
    auto line = lines_.next(input);
    if (!line) return refuse(std::move(line).error());
    if (!*line) return false;
    if (auto taken = take(**line); !taken) return taken;
  }
  return whole_;
}

std::unexpected<Malformed> HeadReader::refuse(Malformed why) const {
  if (why.status == 431 && !has_first_line_) return malformed(414, "the request's target is too long");
  if (why.status == 431) return malformed(431, "the headers are too long");
  return malformed(concat(has_first_line_ ? "a header has " : "the first line has ", why.reason));
}

std::expected<bool, Malformed> HeadReader::take(std::string_view line) {
  if (!has_first_line_) {
    has_first_line_ = true;
    first_line_ = line;
  } else if (line.empty()) {
    whole_ = true;
  } else if (auto parsed = parse_header(line, headers_); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  return whole_;
}

HeadWriter::HeadWriter(std::string_view first_line) {
  text_.reserve(512);
  append_on_one_line(text_, first_line);
  text_ += "\r\n";
}

HeadWriter& HeadWriter::add(std::string_view name, std::string_view value) {
  append_on_one_line(text_, name);
  text_ += ": ";
  append_on_one_line(text_, value);
  text_ += "\r\n";
  return *this;
}

std::string HeadWriter::take() {
  text_ += "\r\n";
  return std::move(text_);
}

}  // namespace cove::http1
