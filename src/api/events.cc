// What happened, in order; as a list, or followed.
#include <sys/eventfd.h>

#include "api/call.h"
#include "api/query.h"
#include "api/response_json.h"
#include "api/sse.h"

namespace cove::api {
namespace {

constexpr size_t kAtOnce = 256;

Outcome list(Call& call, uint64_t after, size_t limit) {
  Document events = Document::array();
  for (const EventRecord& event : COVE_TRY(call.engine().events(call.caller, after, limit))) {
    after = event.seq;
    events.push_back(event_json(event));
  }
  return call.respond(200, dump(Document{{"events", std::move(events)}, {"next", after}}));
}

std::string events_text(const std::vector<EventRecord>& events) {
  std::string text;
  for (const EventRecord& event : events) text += sse_event(event.seq, event.kind, dump(event_json(event)));
  return text;
}

// Cleared before the events are read: what is appended meanwhile wakes again.
void clear(int fd) {
  eventfd_t count = 0;
  ::eventfd_read(fd, &count);
}

Outcome follow(Call& call, uint64_t after) {
  auto subscription = COVE_TRY(call.engine().subscribe_events());
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  while (true) {
    std::vector<EventRecord> events = COVE_TRY(call.engine().events(call.caller, after, kAtOnce));
    if (!events.empty()) {
      COVE_TRY(stream.send(events_text(events)));
      after = events.back().seq;
      continue;
    }
    EventStream::Wake wake = stream.wait(subscription->fd.get());
    if (wake == EventStream::Wake::Gone || wake == EventStream::Wake::Stopping) return {};
    if (wake == EventStream::Wake::Ready) clear(subscription->fd.get());
  }
}

Outcome get_events(Call& call) {
  auto after = static_cast<uint64_t>(COVE_TRY(integer_parameter(call.request(), "after", 0, INT64_MAX)).value_or(0));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  if (auto last = COVE_TRY(last_event_id(call.request()))) after = *last;
  if (accepts(call.request(), kEventStream)) return follow(call, after);
  return list(call, after, limit);
}

}  // namespace

void add_events(Routes& routes) { routes.add("GET", "/v1/events", kRead, get_events); }

}  // namespace cove::api
