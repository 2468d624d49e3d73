#include <algorithm>

#include "base/text.h"
#include "store/database.h"
#include "store/store.h"

namespace cove {
namespace {

constexpr uint64_t kBatch = 500;  // events removed in one transaction

constexpr uint64_t kStretch = 5000;  // numbers looked through at a time for events of one project

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

// There is no index by project, because it would cost every change of everything; others get their turn in between.
Result<std::vector<EventRecord>> Store::events_after(uint64_t seq, const std::string& project, size_t limit) {
  EventFilter filter;
  filter.project = project;
  return events_after(seq, filter, limit);
}

Result<std::vector<EventRecord>> Store::events_after(uint64_t seq, const EventFilter& filter, size_t limit) {
  std::vector<EventRecord> events;
  uint64_t last = last_event();
  if (seq >= last) return events;
  const std::string kinds = filter.kinds.empty() ? "" : concat(",", join(filter.kinds, ","), ",");
  // There is a first one, because the last is never removed.
  for (uint64_t from = std::max(seq, COVE_TRY(first_event()) - 1); from < last && events.size() < limit;
       from += kStretch) {
    std::lock_guard turn(mutex_);
    Query rows = COVE_TRY(database_->query(
        "SELECT seq, time_ms, kind, project, sandbox_id, exec_id, actor, data FROM events "
        "WHERE seq > ?1 AND seq <= ?2 AND (?3 = '' OR project = ?3) "
        "AND (?5 = '' OR sandbox_id = ?5) AND time_ms >= ?6 AND (?7 = 0 OR time_ms < ?7) "
        // Between commas, so that one text holds the list: kinds have none.
        "AND (?8 = '' OR instr(?8, ',' || kind || ',') > 0 "
        "  OR instr(?8, ',' || substr(kind, 1, instr(kind, '.') - 1) || ',') > 0) "
        "AND (?9 = '' OR json_valid(data) AND json_extract(data, '$.session') = ?9) "
        "AND (?10 = '' OR json_valid(data) AND json_extract(data, '$.session') IN "
        "  (SELECT id FROM sessions WHERE agent = ?10 AND sessions.project = events.project)) "
        "ORDER BY seq LIMIT ?4",
        from, std::min(from + kStretch, last), filter.project, static_cast<uint64_t>(limit - events.size()),
        filter.sandbox_id, filter.since_ms, filter.until_ms, kinds, filter.session, filter.agent));
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
