#include "base/text.h"
#include "store/cursor.h"
#include "store/database.h"
#include "store/idempotency.h"
#include "store/store.h"

namespace cove {
namespace {

#define COLUMNS                                                                                            \
  "id, project, name, state, reason, spec, created_ms, started_ms, last_used_ms, expires_ms, updated_ms, " \
  "binding"

SandboxRecord read(const Query& row) {
  SandboxRecord sandbox;
  sandbox.id = row.text(0);
  sandbox.project = row.text(1);
  sandbox.name = row.text(2);
  sandbox.state = row.text(3);
  sandbox.reason = row.text(4);
  sandbox.spec = row.text(5);
  sandbox.created_ms = row.integer(6);
  sandbox.started_ms = row.integer(7);
  sandbox.last_used_ms = row.integer(8);
  sandbox.expires_ms = row.integer(9);
  sandbox.updated_ms = row.integer(10);
  sandbox.binding = row.text(11);
  return sandbox;
}

Result<std::vector<SandboxRecord>> read_all(Query& rows) {
  std::vector<SandboxRecord> sandboxes;
  while (COVE_TRY(rows.next())) sandboxes.push_back(read(rows));
  return sandboxes;
}

RemovedSandbox read_removed(const Query& row) {
  return {row.text(0), row.text(1), row.integer(2), static_cast<uint64_t>(row.integer(3))};
}

Error no_sandbox(std::string_view id) { return Error(Code::NotFound, concat("there is no sandbox '", id, "'")); }

// In words, why a row with this id and name cannot be.
Error explain(Database& database, Error error, const SandboxRecord& sandbox) {
  if (error.code() == Code::NotFound)
    return Error(Code::NotFound, concat("there is no project '", sandbox.project, "'"));
  if (error.code() != Code::Exists) return error;
  Result<int64_t> same_name =
      database.number("SELECT count(*) FROM sandboxes WHERE project = ? AND name = ? AND name <> '' AND id <> ?",
                      sandbox.project, sandbox.name, sandbox.id);
  if (same_name && *same_name > 0)
    return Error(Code::Exists, concat("the name '", sandbox.name, "' is taken"))
        .hint("choose another name, or delete the sandbox that has it")
        .at("/name");
  Result<int64_t> same_binding =
      database.number("SELECT count(*) FROM sandboxes WHERE project = ? AND binding = ? AND binding <> '' AND id <> ?",
                      sandbox.project, sandbox.binding, sandbox.id);
  if (same_binding && *same_binding > 0)
    return Error(Code::Exists, concat("there is a sandbox for ", sandbox.binding, " already"));
  return Error(Code::Exists, concat("there is a sandbox '", sandbox.id, "' already"));
}

Result<void> insert(Database& database, const SandboxRecord& sandbox) {
  Result<void> done =
      database.run("INSERT INTO sandboxes (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", sandbox.id,
                   sandbox.project, sandbox.name, sandbox.state, sandbox.reason, sandbox.spec, sandbox.created_ms,
                   sandbox.started_ms, sandbox.last_used_ms, sandbox.expires_ms, sandbox.updated_ms, sandbox.binding);
  if (!done) return fail(explain(database, std::move(done).error(), sandbox));
  return {};
}

Result<void> rename(Database& database, const SandboxRecord& sandbox) {
  Result<void> done = database.run("UPDATE sandboxes SET name = ? WHERE id = ?", sandbox.name, sandbox.id);
  if (!done) return fail(explain(database, std::move(done).error(), sandbox));
  return {};
}

Result<void> update(Database& database, const SandboxRecord& sandbox) {
  return database.run(
      "UPDATE sandboxes SET state = ?, reason = ?, spec = ?, started_ms = ?, last_used_ms = ?, "
      "expires_ms = ?, updated_ms = ? WHERE id = ?",
      sandbox.state, sandbox.reason, sandbox.spec, sandbox.started_ms, sandbox.last_used_ms, sandbox.expires_ms,
      sandbox.updated_ms, sandbox.id);
}

Result<std::vector<SandboxRecord>> find_named(Database& database, const std::string& project, const std::string& name) {
  if (name.empty()) return std::vector<SandboxRecord>();
  Query rows =
      project.empty()
          ? COVE_TRY(database.query("SELECT " COLUMNS " FROM sandboxes WHERE name = ? LIMIT 2", name))
          : COVE_TRY(database.query("SELECT " COLUMNS " FROM sandboxes WHERE project = ? AND name = ? AND name <> ''",
                                    project, name));
  return read_all(rows);
}

}  // namespace

std::string cursor(const SandboxRecord& sandbox) { return to_cursor({sandbox.created_ms, sandbox.id}); }

Result<uint64_t> Store::insert_sandbox(const SandboxRecord& sandbox, const std::optional<Idempotency>& idempotency,
                                       std::span<const EventDraft> events) {
  return change({"insert_sandbox"}, events, [&]() -> Result<void> {
    if (idempotency) COVE_TRY(insert_idempotency(*database_, *idempotency));
    return insert(*database_, sandbox);
  });
}

Result<uint64_t> Store::update_sandbox(const SandboxRecord& sandbox, std::span<const EventDraft> events) {
  return change({"update_sandbox"}, events, [&]() -> Result<void> {
    std::string name;
    {
      Query row = COVE_TRY(database_->query("SELECT name FROM sandboxes WHERE id = ?", sandbox.id));
      if (!COVE_TRY(row.next())) return fail(no_sandbox(sandbox.id));
      name = row.text(0);
    }
    // Apart, because it costs a change of the index of names.
    if (name != sandbox.name) COVE_TRY(rename(*database_, sandbox));
    return update(*database_, sandbox);
  });
}

Result<void> Store::touch_sandbox(const std::string& id, int64_t last_used_ms, int64_t expires_ms) {
  COVE_TRY(change({"touch_sandbox"}, {}, [&] {
    return database_->run("UPDATE sandboxes SET last_used_ms = ?, expires_ms = ? WHERE id = ?", last_used_ms,
                          expires_ms, id);
  }));
  return {};
}

Result<uint64_t> Store::remove_sandbox(const std::string& id, std::span<const EventDraft> events, IdempotencyKey key) {
  return change({"remove_sandbox"}, events, [&]() -> Result<void> {
    if (key == IdempotencyKey::Forget) COVE_TRY(database_->run("DELETE FROM idempotency WHERE made = ?", id));
    COVE_TRY(database_->run("DELETE FROM sandboxes WHERE id = ?", id));
    if (database_->changes() == 0) return fail(no_sandbox(id));
    return database_->run("DELETE FROM execs WHERE sandbox_id = ?", id);
  });
}

Result<uint64_t> Store::retire_sandbox(const RemovedSandbox& sandbox, std::span<const EventDraft> events) {
  return change({"retire_sandbox"}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM sandboxes WHERE id = ?", sandbox.id));
    if (database_->changes() == 0) return fail(no_sandbox(sandbox.id));
    COVE_TRY(database_->run("DELETE FROM execs WHERE sandbox_id = ? AND state = 'running'", sandbox.id));
    return database_->run("INSERT INTO removed_sandboxes (id, project, removed_ms, bytes) VALUES (?, ?, ?, ?)",
                          sandbox.id, sandbox.project, sandbox.removed_ms, sandbox.bytes);
  });
}

Result<RemovedSandbox> Store::find_removed(const std::string& project, const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row =
      COVE_TRY(database_->query("SELECT id, project, removed_ms, bytes FROM removed_sandboxes WHERE id = ?", id));
  if (COVE_TRY(row.next()) && (project.empty() || row.text(1) == project)) return read_removed(row);
  return fail(no_sandbox(id));
}

Result<std::vector<RemovedSandbox>> Store::removed_sandboxes() {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(
      database_->query("SELECT id, project, removed_ms, bytes FROM removed_sandboxes ORDER BY removed_ms, id"));
  std::vector<RemovedSandbox> sandboxes;
  while (COVE_TRY(rows.next())) sandboxes.push_back(read_removed(rows));
  return sandboxes;
}

Result<void> Store::forget_removed(const std::string& id) {
  COVE_TRY(change({"forget_removed"}, {}, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM removed_sandboxes WHERE id = ?", id));
    if (database_->changes() == 0) return {};
    return database_->run("DELETE FROM execs WHERE sandbox_id = ?", id);
  }));
  return {};
}

Result<SandboxRecord> Store::find_sandbox(const std::string& project, const std::string& id_or_name) {
  std::lock_guard turn(mutex_);
  {
    Query row = COVE_TRY(database_->query("SELECT " COLUMNS " FROM sandboxes WHERE id = ?", id_or_name));
    if (COVE_TRY(row.next()) && (project.empty() || row.text(1) == project)) return read(row);
  }
  std::vector<SandboxRecord> named = COVE_TRY(find_named(*database_, project, id_or_name));
  if (named.empty()) return fail(no_sandbox(id_or_name));
  if (named.size() > 1)
    return fail(Error(Code::Invalid, concat("sandboxes of several projects have the name '", id_or_name, "'"))
                    .hint("name the project, or the sandbox by its id"));
  return std::move(named.front());
}

Result<std::vector<SandboxRecord>> Store::list_sandboxes(const SandboxFilter& filter, const std::string& after,
                                                         size_t limit) {
  Place place = COVE_TRY(parse_cursor(after));
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS " FROM sandboxes WHERE (created_ms, id) > (?1, ?2) "
                                         "AND (?3 = '' OR project = ?3) AND (?4 = '' OR state = ?4) "
                                         "AND (?5 = '' OR name = ?5) ORDER BY created_ms, id LIMIT ?6",
                                         place.time_ms, place.id, filter.project, filter.state, filter.name,
                                         static_cast<uint64_t>(limit)));
  return read_all(rows);
}

Result<std::optional<SandboxRecord>> Store::find_bound(const std::string& project, const std::string& binding) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query(
      "SELECT " COLUMNS " FROM sandboxes WHERE project = ? AND binding = ? AND binding <> ''", project, binding));
  if (!COVE_TRY(row.next())) return std::optional<SandboxRecord>();
  return std::optional(read(row));
}

Result<std::vector<SandboxRecord>> Store::all_sandboxes() {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS " FROM sandboxes ORDER BY created_ms, id"));
  return read_all(rows);
}

Result<std::vector<SandboxRecord>> Store::orphaned_sandboxes() {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(
      database_->query("SELECT " COLUMNS " FROM sandboxes WHERE binding >= 'session:' AND binding < 'session;' "
                       "AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = substr(sandboxes.binding, 9) "
                       "AND sessions.state = 'active') ORDER BY created_ms, id"));
  return read_all(rows);
}

Result<std::vector<StateCount>> Store::count_sandboxes() {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query(
      "SELECT project, state, count(*) FROM sandboxes GROUP BY project, state ORDER BY project, state"));
  std::vector<StateCount> counts;
  while (COVE_TRY(rows.next())) counts.push_back({rows.text(0), rows.text(1), static_cast<uint64_t>(rows.integer(2))});
  return counts;
}

}  // namespace cove
