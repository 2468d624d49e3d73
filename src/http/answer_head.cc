#include "http/answer_head.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/ascii.h"
#include "base/text.h"
#include "http1/status.h"

namespace cove::http {
namespace {

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

AnswerHead::AnswerHead(int status) : writer_(http1::status_line(status)) {}

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
