#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What heads of requests and of responses have in common (RFC 9112). Nothing here touches a socket.
namespace cove::http1 {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of the first header of that name, whatever the case; nothing where there is none.
std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);
size_t count_headers(const Headers& headers, std::string_view name);
// Whether one of the headers of that name has the word in its comma-separated value.
bool any_lists_word(const Headers& headers, std::string_view name, std::string_view word);

// What is wrong with a message, and the status that answers such a request.
struct Malformed {
  int status = 400;
  std::string reason;
};
std::unexpected<Malformed> malformed(std::string reason);
std::unexpected<Malformed> malformed(int status, std::string reason);

// RFC 9110, 5.6.2: what names of methods and headers consist of.
bool is_token(std::string_view text);

// "Name: value", appended to the headers. Folded lines and spaces before the colon are refused.
std::expected<void, Malformed> parse_header(std::string_view line, Headers& headers);

// Lines that end with CRLF, out of bytes as they come. Lines with other control characters than tabs are refused at
// once, and so is what has more than `most` bytes in all.
class LineReader {
 public:
  explicit LineReader(size_t most) : left_(most) {}

  // Takes bytes off the front of `input` up to the end of a line; the line without its end, which is valid until the
  // next call; nothing where it takes more.
  std::expected<std::optional<std::string_view>, Malformed> next(std::string_view& input);

 private:
  size_t left_;
  std::string begun_;  // of a line that comes in pieces
  std::string line_;
};

// A head, as it comes: its first line, and headers up to the empty line.
class HeadReader {
 public:
  explicit HeadReader(size_t most) : lines_(most) {}

  // Takes bytes off the front of `input` up to the end of the head. True when the head is whole, false when more is
  // needed. Too many bytes are refused with 414 within the first line, with 431 behind it.
  std::expected<bool, Malformed> feed(std::string_view& input);

  bool has_first_line() const { return has_first_line_; }
  const std::string& first_line() const { return first_line_; }
  Headers& headers() { return headers_; }

 private:
  std::expected<bool, Malformed> take(std::string_view line);
  std::unexpected<Malformed> refuse(Malformed why) const;

  LineReader lines_;
  bool has_first_line_ = false;
  bool whole_ = false;
  std::string first_line_;
  Headers headers_;
};

// Writes a head. Line ends and NULs within it become spaces: no value can end its line.
class HeadWriter {
 public:
  explicit HeadWriter(std::string_view first_line);
  HeadWriter& add(std::string_view name, std::string_view value);
  // All of it, with the empty line.
  std::string take();

 private:
  std::string text_;
};

}  // namespace cove::http1
