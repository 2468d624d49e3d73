#include "api/rest/sse.h"

#include <algorithm>

#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::string_view kComment = ": keep-alive\n\n";

}  // namespace

std::string sse_event(std::optional<uint64_t> id, std::string_view name, std::string_view data) {
  std::string event = id ? concat("id: ", *id, "\n") : "";
  event.reserve(event.size() + name.size() + data.size() + 20);
  event += "event: ";
  event += name;
  event += "\ndata: ";
  event += data;
  event += "\n\n";
  return event;
}

Result<void> EventStream::begin(int status) {
  return exchange_.begin(status,
                         {{"Content-Type", kEventStream},
                          {"Cache-Control", "no-store"},
                          {"X-Accel-Buffering", "no"},
                          {"Cove-Version", COVE_VERSION}},
                         std::nullopt);
}

Result<void> EventStream::send_problem(const Problem& problem) {
  return send(sse_event(std::nullopt, "error", to_json(problem, exchange_.request().id)));
}

Result<void> EventStream::send(std::string_view events) {
  sent_ = Clock::now();
  return exchange_.write(events);
}

EventStream::Wake EventStream::wait(int fd, std::chrono::milliseconds patience) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(sent_ + kKeepAlive - Clock::now());
  const Wake wake = exchange_.wait(fd, std::clamp(left, std::chrono::milliseconds(0), patience));
  if (wake != Wake::Timeout || Clock::now() < sent_ + kKeepAlive) return wake;
  return send(kComment) ? Wake::Timeout : Wake::Gone;
}

Result<std::optional<uint64_t>> last_event_id(const http::Request& request) {
  auto text = request.header("last-event-id");
  if (!text || text->empty()) return std::nullopt;
  return static_cast<uint64_t>(COVE_TRY_NOTE("Last-Event-ID", parse_integer(*text, 0, INT64_MAX)));
}

}  // namespace cove::api
