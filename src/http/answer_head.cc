#include "http/answer_head.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::http {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};

constexpr Phrase kPhrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

std::string format_date(time_t now) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  tm utc = {};
  ::gmtime_r(&now, &utc);
  char text[64];
  int size = std::snprintf(
      text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[static_cast<size_t>(utc.tm_wday)], utc.tm_mday,
      kMonths[static_cast<size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return std::string(text, static_cast<size_t>(size));
}

bool follows_from_sending(std::string_view name) {
  return same_word(name, "content-length") || same_word(name, "transfer-encoding") || same_word(name, "connection");
}

}  // namespace

std::string_view reason_phrase(int status) {
  auto phrase = std::find_if(std::begin(kPhrases), std::end(kPhrases), [=](auto& p) { return p.status == status; });
  return phrase == std::end(kPhrases) ? std::string_view("Unknown") : phrase->text;
}

const std::string& http_date() {
  thread_local time_t second = 0;
  thread_local std::string text;
  time_t now = std::time(nullptr);
  if (now != second) {
    text = format_date(now);
    second = now;
  }
  return text;
}

AnswerHead::AnswerHead(int status) : writer_(concat("HTTP/1.1 ", status, " ", reason_phrase(status))) {}

AnswerHead& AnswerHead::add(const Headers& headers) {
  for (auto& [name, value] : headers)
    if (!follows_from_sending(name)) add(name, value);
  return *this;
}

AnswerHead& AnswerHead::add(std::string_view name, std::string_view value) {
  writer_.add(name, value);
  return *this;
}

}  // namespace cove::http
