#include "base/text.h"
#include "store/cursor.h"
#include "store/database.h"
#include "store/store.h"

namespace cove {
namespace {

#define COLUMNS \
  "id, project, agent, scope, state, reason, sandbox_id, spec, idle_ms, created_ms, last_used_ms, ended_ms"

SessionRecord read(const Query& row) {
  SessionRecord session;
  session.id = row.text(0);
  session.project = row.text(1);
  session.agent = row.text(2);
  session.scope = row.text(3);
  session.state = row.text(4);
  session.reason = row.text(5);
  session.sandbox_id = row.text(6);
  session.spec = row.text(7);
  session.idle_ms = row.integer(8);
  session.created_ms = row.integer(9);
  session.last_used_ms = row.integer(10);
  session.ended_ms = row.integer(11);
  return session;
}

Result<std::vector<SessionRecord>> read_all(Query& rows) {
  std::vector<SessionRecord> sessions;
  while (COVE_TRY(rows.next())) sessions.push_back(read(rows));
  return sessions;
}

Error no_session(std::string_view id) { return Error(Code::NotFound, concat("there is no session '", id, "'")); }

Error explain(Error error, const SessionRecord& session) {
  if (error.code() == Code::NotFound)
    return Error(Code::NotFound, concat("there is no project '", session.project, "'"));
  if (error.code() == Code::Exists) return Error(Code::Exists, concat("there is a session '", session.id, "' already"));
  return error;
}

}  // namespace

std::string cursor(const SessionRecord& session) { return to_cursor({session.created_ms, session.id}); }

Result<uint64_t> Store::insert_session(const SessionRecord& session, std::span<const EventDraft> events) {
  return change({"insert_session"}, events, [&]() -> Result<void> {
    Result<void> done = database_->run(
        "INSERT INTO sessions (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, NULLIF(?, ''), ?, ?, ?, ?, ?)", session.id,
        session.project, session.agent, session.scope, session.state, session.reason, session.sandbox_id, session.spec,
        session.idle_ms, session.created_ms, session.last_used_ms, session.ended_ms);
    if (!done) return fail(explain(std::move(done).error(), session));
    return {};
  });
}

Result<uint64_t> Store::bind_session(const std::string& id, const std::string& sandbox_id,
                                     std::span<const EventDraft> events) {
  return change({"bind_session"}, events, [&]() -> Result<void> {
    Result<void> done =
        database_->run("UPDATE sessions SET sandbox_id = ? WHERE id = ? AND state = 'active'", sandbox_id, id);
    if (!done && done.error().code() == Code::NotFound)
      return fail(Code::NotFound, concat("there is no sandbox '", sandbox_id, "'"));
    if (!done) return done;
    if (database_->changes() == 0) return fail(no_session(id));
    return {};
  });
}

Result<uint64_t> Store::update_session(const std::string& id, const std::string& spec,
                                       std::span<const EventDraft> events) {
  return change({"update_session"}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("UPDATE sessions SET spec = ? WHERE id = ? AND state = 'active'", spec, id));
    if (database_->changes() == 0) return fail(no_session(id));
    return {};
  });
}

Result<void> Store::touch_session(const std::string& id, int64_t last_used_ms) {
  COVE_TRY(change({"touch_session"}, {}, [&] {
    return database_->run(
        "UPDATE sessions SET last_used_ms = ?1 WHERE id = ?2 AND state = 'active' AND last_used_ms < ?1", last_used_ms,
        id);
  }));
  return {};
}

Result<uint64_t> Store::end_session(const std::string& id, const SessionEnd& end, std::span<const EventDraft> events) {
  return change({"end_session"}, events, [&]() -> Result<void> {
    COVE_TRY(
        database_->run("UPDATE sessions SET state = 'ended', reason = ?, ended_ms = ? "
                       "WHERE id = ? AND state = 'active' AND last_used_ms <= ?",
                       end.reason, end.time_ms, id, end.unused_since_ms));
    if (database_->changes() == 0) return fail(no_session(id));
    return {};
  });
}

Result<SessionRecord> Store::find_session(const std::string& project, const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT " COLUMNS " FROM sessions WHERE id = ?", id));
  if (COVE_TRY(row.next()) && (project.empty() || row.text(1) == project)) return read(row);
  return fail(no_session(id));
}

Result<std::vector<SessionRecord>> Store::list_sessions(const SessionFilter& filter, const std::string& after,
                                                        size_t limit) {
  Place place = COVE_TRY(parse_cursor(after));
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS " FROM sessions WHERE (created_ms, id) > (?1, ?2) "
                                         "AND (?3 = '' OR project = ?3) AND (?4 = '' OR agent = ?4) "
                                         "AND (?5 = '' OR scope = ?5) AND (?6 = '' OR state = ?6) "
                                         "ORDER BY created_ms, id LIMIT ?7",
                                         place.time_ms, place.id, filter.project, filter.agent, filter.scope,
                                         filter.state, static_cast<uint64_t>(limit)));
  return read_all(rows);
}

Result<std::vector<SessionRecord>> Store::idle_sessions(int64_t now_ms) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query(
      "SELECT " COLUMNS " FROM sessions WHERE state = 'active' AND idle_ms > 0 AND last_used_ms + idle_ms <= ?",
      now_ms));
  return read_all(rows);
}

Result<uint64_t> Store::prune_sessions(int64_t ended_before_ms) {
  uint64_t removed = 0;
  COVE_TRY(change({"prune_sessions"}, {}, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM sessions WHERE state = 'ended' AND ended_ms < ?", ended_before_ms));
    removed = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return removed;
}

}  // namespace cove
