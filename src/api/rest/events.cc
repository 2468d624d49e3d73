// What happened, in order; as a list, or followed.
#include <sys/eventfd.h>

#include <algorithm>

#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr size_t kAtOnce = 256;

// Events, and the number up to which there are no others: the filter may have left out all that is new.
Checked<std::vector<EventRecord>> read_on(Call& call, const EventFilter& filter, uint64_t& after, size_t limit) {
  const uint64_t last = call.engine().store().last_event();
  std::vector<EventRecord> events = COVE_TRY(call.engine().events(call.caller, filter, after, limit));
  if (!events.empty()) after = events.back().seq;
  if (events.size() < limit) after = std::max(after, last);
  return events;
}

Outcome list(Call& call, const EventFilter& filter, uint64_t after, size_t limit) {
  std::vector<std::string> events;
  for (const EventRecord& event : COVE_TRY(read_on(call, filter, after, limit)))
    events.push_back(dump(event_json(event)));
  const std::string next = events.size() == limit ? concat(after) : "";
  std::string page = page_json(events, next);
  page.pop_back();
  return call.respond(200, concat(page, ",\"last_seq\":", after, "}"));
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

Outcome follow(Call& call, const EventFilter& filter, uint64_t after) {
  auto subscription = COVE_TRY(call.engine().subscribe_events());
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  while (true) {
    std::vector<EventRecord> events = COVE_TRY(read_on(call, filter, after, kAtOnce));
    if (!events.empty()) {
      COVE_TRY(stream.send(events_text(events)));
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
  EventFilter filter = COVE_TRY(event_filter(call.request()));
  if (accepts(call.request(), kEventStream)) return follow(call, filter, after);
  return list(call, filter, after, limit);
}

}  // namespace

void add_events(Routes& routes) {
  routes.add("GET", "/v1/events", kRead, get_events,
             {"after", "limit", "type*", "sandbox", "session", "agent", "since", "until"});
}

}  // namespace cove::api
