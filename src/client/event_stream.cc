#include "client/event_stream.h"

#include <utility>

namespace cove::client {

void EventParser::feed(std::string_view text) {
  for (char c : text) {
    bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r')
      take_line(std::exchange(line_, {}));
    else
      line_ += c;
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

Result<std::optional<ServerEvent>> EventStream::next() {
  char data[16384];
  while (true) {
    if (std::optional<ServerEvent> event = parser_.next()) return event;
    size_t count = COVE_TRY(body_.read(data, sizeof data));
    if (count == 0) return std::nullopt;
    parser_.feed({data, count});
  }
}

}  // namespace cove::client
