#include "http1/response.h"

#include <algorithm>

namespace cove::http1 {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "HTTP/1.1 200 OK"; the reason may be missing.
std::expected<ResponseHead, Malformed> parse_status_line(std::string_view line) {
  const bool versioned = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  if (!versioned || line.size() < 12) return malformed("its first line");
  std::string_view digits = line.substr(9, 3);
  const bool number = std::all_of(digits.begin(), digits.end(), is_digit) && digits[0] != '0';
  if (!number || (line.size() > 12 && line[12] != ' ')) return malformed("its status");
  ResponseHead head;
  head.status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
  head.http11 = line[7] == '1';
  return head;
}

bool has_no_body(int status, std::string_view method) {
  return method == "HEAD" || status < 200 || status == 204 || status == 304;
}

}  // namespace

std::string_view ResponseHead::header(std::string_view name) const {
  return find_header(headers, name).value_or(std::string_view());
}

std::expected<ResponseHead, Malformed> parse_response_head(HeadReader& reader) {
  auto head = parse_status_line(reader.first_line());
  if (!head) return head;
  head->headers = std::move(reader.headers());
  head->keeps_alive = head->http11 && !any_lists_word(head->headers, "connection", "close");
  return head;
}

std::expected<Framing, Malformed> framing_of(const ResponseHead& head, std::string_view method) {
  if (has_no_body(head.status, method)) return Framing{};
  auto told = told_framing(head.headers, head.http11, RepeatedLength::Taken);
  if (!told) return std::unexpected(std::move(told).error());
  return told->value_or(Framing{Framing::Kind::UntilClose, 0});
}

}  // namespace cove::http1
