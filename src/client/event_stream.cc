#include "client/event_stream.h"

#include <algorithm>
#include <utility>

namespace cove::client {

void EventParser::feed(std::string_view text) {
  while (!text.empty()) {
    if (std::exchange(after_return_, false) && text[0] == '\n') text.remove_prefix(1);
    const size_t line_feed = text.find('\n');
    const size_t end = std::min(line_feed, text.substr(0, line_feed).find('\r'));
    line_ += text.substr(0, end);
    if (end == std::string_view::npos) return;
    after_return_ = text[end] == '\r';
    text.remove_prefix(end + 1);
    take_line(std::exchange(line_, {}));
  }
}

void EventParser::take_line(std::string_view line) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (!std::exchange(begun_, true) && line.starts_with(kMark)) line.remove_prefix(kMark.size());
  if (line.empty()) return dispatch();
  size_t colon = line.find(':');
  if (colon == 0) return;
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void EventParser::take_field(std::string_view name, std::string_view value) {
  if (name == "event") event_ = value;
  if (name == "id" && value.find('\0') == std::string_view::npos) id_ = value;
  if (name == "data") (data_ += value) += '\n';
}

void EventParser::dispatch() {
  std::string event = std::exchange(event_, {});
  std::string data = std::exchange(data_, {});
  if (data.empty()) return;
  data.pop_back();
  ready_.push_back({id_, event.empty() ? "message" : std::move(event), std::move(data)});
}

std::optional<ServerEvent> EventParser::next() {
  if (taken_ < ready_.size()) return std::move(ready_[taken_++]);
  ready_.clear();
  taken_ = 0;
  return std::nullopt;
}

// False at the end.
Result<bool> EventStream::read_some() {
  char data[16384];
  size_t count = COVE_TRY(body_.read(data, sizeof data));
  parser_.feed({data, count});
  return count > 0;
}

Result<std::optional<ServerEvent>> EventStream::next() {
  while (true) {
    if (std::optional<ServerEvent> event = parser_.next()) return event;
    if (!COVE_TRY(read_some())) return std::nullopt;
  }
}

Result<std::optional<ServerEvent>> EventStream::next_ready() {
  while (true) {
    if (std::optional<ServerEvent> event = parser_.next()) return event;
    if (!COVE_TRY(body_.ready()) || !COVE_TRY(read_some())) return std::nullopt;
  }
}

}  // namespace cove::client
