#include "base/text.h"
#include "store/cursor.h"
#include "store/database.h"
#include "store/store.h"
#include "store/usage_rows.h"

namespace cove {
namespace {

#define COLUMNS "id, sandbox_id, state, tag, spec, result, started_ms, ended_ms, position, session"

ExecRecord read(const Query& row) {
  ExecRecord exec;
  exec.id = row.text(0);
  exec.sandbox_id = row.text(1);
  exec.state = row.text(2);
  exec.tag = row.text(3);
  exec.spec = row.text(4);
  exec.result = row.text(5);
  exec.started_ms = row.integer(6);
  exec.ended_ms = row.integer(7);
  exec.position = static_cast<uint64_t>(row.integer(8));
  exec.session = row.text(9);
  return exec;
}

Result<std::vector<ExecRecord>> read_all(Query& rows) {
  std::vector<ExecRecord> execs;
  while (COVE_TRY(rows.next())) execs.push_back(read(rows));
  return execs;
}

Error no_exec(std::string_view id) { return Error(Code::NotFound, concat("there is no exec '", id, "'")); }

Error explain(Error error, const ExecRecord& exec) {
  if (error.code() == Code::Exists) return Error(Code::Exists, concat("there is an exec '", exec.id, "' already"));
  return error;
}

Result<void> update(Database& database, const ExecRecord& exec) {
  COVE_TRY(
      database.run("UPDATE execs SET state = ?, tag = ?, spec = ?, result = ?, ended_ms = ?, position = ? WHERE id = ?",
                   exec.state, exec.tag, exec.spec, exec.result, exec.ended_ms, exec.position, exec.id));
  if (database.changes() == 0) return fail(no_exec(exec.id));
  return {};
}

}  // namespace

std::string cursor(const ExecRecord& exec) { return to_cursor({exec.started_ms, exec.id}); }

Result<uint64_t> Store::insert_exec(const ExecRecord& exec, std::span<const EventDraft> events) {
  return change({"insert_exec"}, events, [&]() -> Result<void> {
    Result<void> done = database_->run("INSERT INTO execs (" COLUMNS
                                       ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 "
                                       "WHERE EXISTS (SELECT 1 FROM sandboxes WHERE id = ?2)",
                                       exec.id, exec.sandbox_id, exec.state, exec.tag, exec.spec, exec.result,
                                       exec.started_ms, exec.ended_ms, exec.position, exec.session);
    if (!done) return fail(explain(std::move(done).error(), exec));
    if (database_->changes() == 0) return fail(Code::NotFound, concat("there is no sandbox '", exec.sandbox_id, "'"));
    return {};
  });
}

Result<uint64_t> Store::end_exec(const ExecRecord& exec, const UsageRecord& usage, std::span<const EventDraft> events) {
  return change({"end_exec"}, events, [&]() -> Result<void> {
    COVE_TRY(update(*database_, exec));
    return insert_usage(*database_, usage);
  });
}

Result<void> Store::retag_exec(const std::string& sandbox_id, const std::string& id, const std::string& tag) {
  COVE_TRY(change({"retag_exec"}, {}, [&] {
    return database_->run("UPDATE execs SET tag = ? WHERE id = ? AND sandbox_id = ?", tag, id, sandbox_id);
  }));
  return {};
}

Result<ExecRecord> Store::find_exec(const std::string& sandbox_id, const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT " COLUMNS " FROM execs WHERE id = ?", id));
  if (COVE_TRY(row.next()) && (sandbox_id.empty() || row.text(1) == sandbox_id)) return read(row);
  return fail(no_exec(id));
}

Result<std::vector<ExecRecord>> Store::list_execs(const std::string& sandbox_id, const ExecFilter& filter,
                                                  const std::string& after, size_t limit) {
  Place place = COVE_TRY(parse_cursor(after));
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS " FROM execs WHERE sandbox_id = ?1 "
                                         "AND (started_ms, id) > (?2, ?3) AND (?4 = '' OR state = ?4) "
                                         "AND (?5 = '' OR tag = ?5) AND (?7 = '' OR session = ?7) "
                                         "AND substr(tag, 1, length(?8)) = ?8 "
                                         "ORDER BY started_ms, id LIMIT ?6",
                                         sandbox_id, place.time_ms, place.id, filter.state, filter.tag,
                                         static_cast<uint64_t>(limit), filter.session, filter.tag_begins));
  return read_all(rows);
}

Result<std::vector<ExecRecord>> Store::running_execs(const std::string& sandbox_id) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query(
      "SELECT " COLUMNS " FROM execs WHERE sandbox_id = ? AND state = 'running' ORDER BY started_ms, id", sandbox_id));
  return read_all(rows);
}

Result<std::vector<ExecRecord>> Store::running_execs_of_session(const std::string& session) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS
                                         " FROM execs WHERE session = ? AND session <> '' AND state = 'running' "
                                         "ORDER BY started_ms, id",
                                         session));
  return read_all(rows);
}

Result<int64_t> Store::last_end_in_session(const std::string& session) {
  std::lock_guard turn(mutex_);
  return database_->number("SELECT max(ended_ms) FROM execs WHERE session = ? AND session <> ''", session);
}

Result<std::vector<std::pair<std::string, uint64_t>>> Store::sizes_of_ended_execs(const std::string& sandbox_id) {
  std::lock_guard turn(mutex_);
  Query rows =
      COVE_TRY(database_->query("SELECT id, length(CAST(spec AS BLOB)) + length(CAST(result AS BLOB)) "
                                "FROM execs WHERE sandbox_id = ? AND state = 'ended' ORDER BY started_ms, id",
                                sandbox_id));
  std::vector<std::pair<std::string, uint64_t>> sizes;
  while (COVE_TRY(rows.next())) sizes.emplace_back(rows.text(0), static_cast<uint64_t>(rows.integer(1)));
  return sizes;
}

Result<void> Store::remove_exec(const std::string& id) {
  COVE_TRY(change({"remove_exec"}, {},
                  [&] { return database_->run("DELETE FROM execs WHERE id = ? AND state = 'ended'", id); }));
  return {};
}

Result<std::vector<std::string>> Store::prune_execs(const std::string& sandbox_id, size_t keep_newest) {
  std::vector<std::string> removed;
  COVE_TRY(change({"prune_execs"}, {}, [&]() -> Result<void> {
    Query rows =
        COVE_TRY(database_->query("SELECT id FROM execs WHERE sandbox_id = ? AND state = 'ended' "
                                  "ORDER BY started_ms DESC, id DESC LIMIT -1 OFFSET ?",
                                  sandbox_id, static_cast<uint64_t>(keep_newest)));
    while (COVE_TRY(rows.next())) removed.push_back(rows.text(0));
    for (const std::string& id : removed) COVE_TRY(database_->run("DELETE FROM execs WHERE id = ?", id));
    return {};
  }));
  return removed;
}

}  // namespace cove
