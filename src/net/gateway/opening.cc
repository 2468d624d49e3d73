#include "net/gateway/opening.h"

#include <algorithm>
#include <cctype>

namespace cove::net {
namespace {

constexpr std::string_view kSpace = "\r\n \t\v\f";
constexpr std::string_view kPreface = "PRI * HTTP/2";

bool is_record_type(char byte) { return byte >= 0x14 && byte <= 0x18; }

bool is_token(char byte) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || kMarks.find(byte) != kMarks.npos;
}

bool is_text(char byte) {
  auto value = static_cast<unsigned char>(byte);
  return value >= 0x20 || byte == '\t' || byte == '\v' || byte == '\f' || byte == '\r';
}

bool names_http(std::string_view line) {
  constexpr std::string_view kName = "HTTP/";
  auto same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
  return std::search(line.begin(), line.end(), kName.begin(), kName.end(), same) != line.end();
}

// PostgreSQL's SSLRequest and GSSENCRequest.
Opening classify_query(std::string_view bytes) {
  using namespace std::string_view_literals;
  Opening found = Opening::Other;
  for (std::string_view query : {"\0\0\0\x08\x04\xd2\x16\x2f"sv, "\0\0\0\x08\x04\xd2\x16\x30"sv}) {
    if (bytes.starts_with(query)) return Opening::Query;
    if (query.starts_with(bytes)) found = Opening::Unknown;
  }
  return found;
}

// HTTP/0.9: a method and a target, nothing else.
bool is_simple_request(std::string_view line) {
  for (std::string_view method : {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "})
    if (line.starts_with(method) && (line.substr(method.size()).starts_with("/") || line.find("://") != line.npos))
      return true;
  return false;
}

Opening classify_line(std::string_view line) {
  if (line.starts_with(kPreface)) return Opening::Http2;
  return names_http(line) || is_simple_request(line) ? Opening::Http : Opening::Other;
}

// No line end yet. What begins with a word or a space may become a request; what is too long for one is refused as one.
Opening without_line_end(std::string_view text, Server server) {
  if (server == Server::Spoke) return Opening::Other;
  return text.size() < kLongestFirstLine ? Opening::Unknown : Opening::Http;
}

Opening classify_text(std::string_view text, Server server) {
  text = text.substr(0, kLongestFirstLine);
  auto start = text.find_first_not_of(kSpace);  // servers skip empty lines and spaces
  if (start == text.npos) return without_line_end(text, server);
  auto end = text.find('\n', start);
  std::string_view line = text.substr(start, end == text.npos ? end : end - start);
  if (!is_token(line.front()) || !std::ranges::all_of(line, is_text)) return Opening::Other;
  return end == text.npos ? without_line_end(text, server) : classify_line(line);
}

}  // namespace

Opening classify(std::string_view bytes, Server server) {
  if (bytes.empty()) return Opening::Unknown;
  if (is_record_type(bytes[0])) {
    if (server == Server::Silent) return Opening::Tls;
    if (bytes.size() == 1) return Opening::Unknown;
    return bytes[1] == 3 ? Opening::Tls : Opening::Other;
  }
  if (bytes[0] == '\0') return classify_query(bytes);
  return classify_text(bytes, server);
}

}  // namespace cove::net
