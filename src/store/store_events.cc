#include <algorithm>

#include "base/text.h"
#include "store/database.h"
#include "store/event_query.h"
#include "store/store.h"

namespace cove {
namespace {

constexpr uint64_t kBatch = 500;  // events removed in one transaction

constexpr uint64_t kStretch = 100'000;  // numbers looked through at a time: others get their turn in between

Result<void> read_rows(Query& rows, std::vector<EventRecord>& events) {
  while (COVE_TRY(rows.next()))
    events.push_back({static_cast<uint64_t>(rows.integer(0)), rows.integer(1), rows.text(2), rows.text(3), rows.text(4),
                      rows.text(5), rows.text(6), rows.text(7)});
  return {};
}

}  // namespace

Result<uint64_t> Store::append_events(std::span<const EventDraft> events) {
  if (events.empty()) return 0;
  return change({"append_events"}, events, []() -> Result<void> { return {}; });
}

Result<std::vector<EventRecord>> Store::events_after(uint64_t seq, const std::string& project, size_t limit) {
  EventFilter filter;
  filter.project = project;
  return events_after(seq, filter, limit);
}

Result<std::vector<EventRecord>> Store::events_after(uint64_t seq, const EventFilter& filter, size_t limit) {
  std::vector<EventRecord> events;
  uint64_t last = last_event();
  if (seq >= last) return events;
  const char* sql = event_query(filter);
  const std::string kinds = filter.kinds.empty() ? "" : concat(",", join(filter.kinds, ","), ",");
  // There is a first one, because the last is never removed.
  for (uint64_t from = std::max(seq, COVE_TRY(first_event()) - 1); from < last && events.size() < limit;
       from += kStretch) {
    std::lock_guard turn(reader_mutex_);
    Query rows = COVE_TRY(reader_->query(sql, from, std::min(from + kStretch, last), filter.project,
                                         static_cast<uint64_t>(limit - events.size()), filter.sandbox_id,
                                         filter.since_ms, filter.until_ms, kinds, filter.session, filter.agent));
    COVE_TRY(read_rows(rows, events));
  }
  return events;
}

Result<uint64_t> Store::first_event() {
  std::lock_guard turn(mutex_);
  return static_cast<uint64_t>(COVE_TRY(database_->number("SELECT seq FROM events ORDER BY seq LIMIT 1")));
}

Result<uint64_t> Store::prune_events(int64_t older_than_ms, uint64_t keep_newest) {
  uint64_t removed = 0;
  while (true) {
    uint64_t batch = COVE_TRY(prune_event_batch(older_than_ms, keep_newest));
    removed += batch;
    if (batch < kBatch) return removed;
  }
}

// At most kBatch of the oldest: up to the first one that neither its age nor its number removes.
Result<uint64_t> Store::prune_event_batch(int64_t older_than_ms, uint64_t keep_newest) {
  uint64_t first = COVE_TRY(first_event());
  uint64_t last = last_event();
  if (first == 0 || first >= last) return 0;
  uint64_t end = std::min(first + kBatch, last);  // exclusive: the last one stays
  uint64_t removed = 0;
  COVE_TRY(change({"prune_events"}, {}, [&]() -> Result<void> {
    int64_t young = COVE_TRY(
        database_->number("SELECT seq FROM events WHERE seq >= ? AND seq < ? AND time_ms >= ? ORDER BY seq LIMIT 1",
                          first, end, older_than_ms));
    uint64_t by_age = young == 0 ? end : static_cast<uint64_t>(young);
    uint64_t by_number = keep_newest == 0 || last < keep_newest ? 0 : last - keep_newest + 1;
    COVE_TRY(database_->run("DELETE FROM events WHERE seq < ?", std::min(end, std::max(by_age, by_number))));
    removed = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return removed;
}

}  // namespace cove
