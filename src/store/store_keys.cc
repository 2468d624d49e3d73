#include <sys/random.h>

#include <cstdlib>

#include "base/text.h"
#include "store/database.h"
#include "store/store.h"

// Keys, projects and secrets: what survives a power cut.
namespace cove {
namespace {

#define COLUMNS "id, name, project, scopes, salt, hash, created_ms, expires_ms, revoked_ms"

constexpr size_t kSecretBytes = 32;

KeyRecord read_key(const Query& row) {
  KeyRecord key;
  key.id = row.text(0);
  key.name = row.text(1);
  key.project = row.text(2);
  key.scopes = row.text(3);
  key.salt = row.text(4);
  key.hash = row.text(5);
  key.created_ms = row.integer(6);
  key.expires_ms = row.integer(7);
  key.revoked_ms = row.integer(8);
  return key;
}

Error no_key(std::string_view id) { return Error(Code::NotFound, concat("there is no key '", id, "'")); }
Error no_project(std::string_view id) { return Error(Code::NotFound, concat("there is no project '", id, "'")); }

Error explain(Error error, const KeyRecord& key) {
  if (error.code() == Code::NotFound) return no_project(key.project);
  if (error.code() == Code::Exists) return Error(Code::Exists, concat("there is a key '", key.id, "' already"));
  return error;
}

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

}  // namespace

Result<uint64_t> Store::insert_key(const KeyRecord& key, std::span<const EventDraft> events) {
  return change({"insert_key", Survives::PowerCut}, events, [&]() -> Result<void> {
    Result<void> done =
        database_->run("INSERT INTO keys (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", key.id, key.name,
                       key.project, key.scopes, key.salt, key.hash, key.created_ms, key.expires_ms, key.revoked_ms);
    if (!done) return fail(explain(std::move(done).error(), key));
    return {};
  });
}

Result<KeyRecord> Store::find_key(const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT " COLUMNS " FROM keys WHERE id = ?", id));
  if (!COVE_TRY(row.next())) return fail(no_key(id));
  return read_key(row);
}

Result<std::vector<KeyRecord>> Store::list_keys(const std::string& project) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(
      database_->query("SELECT " COLUMNS " FROM keys WHERE ?1 = '' OR project = ?1 ORDER BY created_ms, id", project));
  std::vector<KeyRecord> keys;
  while (COVE_TRY(rows.next())) keys.push_back(read_key(rows));
  return keys;
}

Result<uint64_t> Store::revoke_key(const std::string& id, int64_t revoked_ms, std::span<const EventDraft> events) {
  bool revoked_before = false;
  Result<uint64_t> last = change({"revoke_key", Survives::PowerCut}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("UPDATE keys SET revoked_ms = ? WHERE id = ? AND revoked_ms = 0", revoked_ms, id));
    if (database_->changes() > 0) return {};
    revoked_before = COVE_TRY(database_->number("SELECT count(*) FROM keys WHERE id = ?", id)) > 0;
    return fail(no_key(id));  // so that the events are not appended either
  });
  if (revoked_before) return 0;
  return last;
}

Result<uint64_t> Store::insert_project(const ProjectRecord& project, std::span<const EventDraft> events) {
  return change({"insert_project", Survives::PowerCut}, events, [&]() -> Result<void> {
    Result<void> done = database_->run("INSERT INTO projects (id, quotas, created_ms) VALUES (?, ?, ?)", project.id,
                                       project.quotas, project.created_ms);
    if (!done && done.error().code() == Code::Exists)
      return fail(Error(Code::Exists, concat("there is a project '", project.id, "' already")).at("/id"));
    return done;
  });
}

Result<uint64_t> Store::update_project(const ProjectRecord& project, std::span<const EventDraft> events) {
  return change({"update_project", Survives::PowerCut}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("UPDATE projects SET quotas = ? WHERE id = ?", project.quotas, project.id));
    if (database_->changes() == 0) return fail(no_project(project.id));
    return {};
  });
}

Result<uint64_t> Store::remove_project(const std::string& id, std::span<const EventDraft> events) {
  if (id == kDefaultProject) return fail(Code::Denied, concat("the project '", id, "' cannot be removed"));
  return change({"remove_project", Survives::PowerCut}, events, [&]() -> Result<void> {
    if (COVE_TRY(database_->number("SELECT count(*) FROM sandboxes WHERE project = ?", id)) > 0)
      return fail(
          Error(Code::Conflict, concat("the project '", id, "' still has sandboxes")).hint("delete them first"));
    COVE_TRY(database_->run("DELETE FROM projects WHERE id = ?", id));
    if (database_->changes() == 0) return fail(no_project(id));
    COVE_TRY(database_->run(
        "DELETE FROM execs WHERE sandbox_id IN (SELECT id FROM removed_sandboxes WHERE project = ?)", id));
    for (const char* sql : {"DELETE FROM removed_sandboxes WHERE project = ?", "DELETE FROM usage WHERE project = ?",
                            "DELETE FROM operations WHERE project = ?", "DELETE FROM idempotency WHERE project = ?",
                            "DELETE FROM network_policies WHERE project = ?"})
      COVE_TRY(database_->run(sql, id));
    return {};
  });
}

Result<ProjectRecord> Store::find_project(const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT id, quotas, created_ms FROM projects WHERE id = ?", id));
  if (!COVE_TRY(row.next())) return fail(no_project(id));
  return ProjectRecord{row.text(0), row.text(1), row.integer(2)};
}

Result<std::vector<ProjectRecord>> Store::list_projects() {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT id, quotas, created_ms FROM projects ORDER BY id"));
  std::vector<ProjectRecord> projects;
  while (COVE_TRY(rows.next())) projects.push_back({rows.text(0), rows.text(1), rows.integer(2)});
  return projects;
}

Result<std::string> Store::secret(const std::string& name) {
  std::string value;
  auto find = [&]() -> Result<bool> {
    Query row = COVE_TRY(database_->query("SELECT value FROM secrets WHERE name = ?", name));
    if (!COVE_TRY(row.next())) return false;
    value = row.text(0);
    return true;
  };
  {
    std::lock_guard turn(mutex_);
    if (COVE_TRY(find())) return value;
  }
  COVE_TRY(change({"make_secret", Survives::PowerCut}, {}, [&]() -> Result<void> {
    if (COVE_TRY(find())) return {};
    value = random_bytes(kSecretBytes);
    return database_->run("INSERT INTO secrets (name, value) VALUES (?, CAST(? AS BLOB))", name, value);
  }));
  return value;
}

}  // namespace cove
