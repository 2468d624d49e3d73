#include "store/event_query.h"

namespace cove {
namespace {

#define EVENTS(index, which)                                                                                       \
  "SELECT seq, time_ms, kind, project, sandbox_id, exec_id, actor, data FROM events " index " WHERE " which        \
  " AND seq > ?1 AND seq <= ?2 "                                                                                   \
  "AND time_ms >= ?6 AND (?7 = 0 OR time_ms < ?7) " /* Between commas, so that one text holds the list: kinds have \
                                                       none. */                                                    \
  "AND (?8 = '' OR instr(?8, ',' || kind || ',') > 0 "                                                             \
  "  OR instr(?8, ',' || substr(kind, 1, instr(kind, '.') - 1) || ',') > 0) "                                      \
  "AND (?5 = '' OR sandbox_id = ?5) AND (?9 = '' OR session = ?9) "                                                \
  "AND (?10 = '' OR session IN "                                                                                   \
  "  (SELECT id FROM sessions WHERE agent = ?10 AND sessions.project = events.project)) "                          \
  "ORDER BY seq LIMIT ?4"

constexpr const char* kOfSandbox =
    EVENTS("INDEXED BY events_by_sandbox", "sandbox_id = ?5 AND sandbox_id <> '' AND (?3 = '' OR project = ?3)");
constexpr const char* kOfSession =
    EVENTS("INDEXED BY events_by_session", "session = ?9 AND session <> '' AND (?3 = '' OR project = ?3)");
constexpr const char* kOfProject = EVENTS("INDEXED BY events_by_project", "project = ?3");
constexpr const char* kOfAll = EVENTS("", "?3 = ''");

}  // namespace

const char* event_query(const EventFilter& filter) {
  if (!filter.sandbox_id.empty()) return kOfSandbox;
  if (!filter.session.empty()) return kOfSession;
  return filter.project.empty() ? kOfAll : kOfProject;
}

}  // namespace cove
