#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/rest/problem.h"
#include "http/exchange.h"

// Server-Sent Events.
namespace cove::api {

inline constexpr const char* kEventStream = "text/event-stream";

// One event, ready to be sent. `data` is JSON on one line.
std::string sse_event(std::optional<uint64_t> id, std::string_view name, std::string_view data);

// A stream of events to one caller. Where none come, a comment every 15 seconds keeps proxies from giving up.
class EventStream {
 public:
  static constexpr std::chrono::seconds kKeepAlive{15};
  explicit EventStream(http::Exchange& exchange) : exchange_(exchange) {}

  Result<void> begin(int status = 200);
  // One event, or several that were put together.
  Result<void> send(std::string_view events);
  Result<void> send_problem(const Problem& problem);
  // Until `fd` is readable, the caller has gone, the server stops, or time is up. Comments are sent meanwhile.
  using Wake = http::Exchange::Wake;
  Wake wait(int fd, std::chrono::milliseconds patience = kKeepAlive);
  Result<void> end() { return exchange_.end(); }

 private:
  using Clock = std::chrono::steady_clock;

  http::Exchange& exchange_;
  Clock::time_point sent_ = Clock::now();  // when something was
};

// The number after which a resumed stream goes on, of Last-Event-ID; Invalid where it is none.
Result<std::optional<uint64_t>> last_event_id(const http::Request& request);

}  // namespace cove::api
