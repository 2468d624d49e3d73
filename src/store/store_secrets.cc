#include "base/text.h"
#include "store/database.h"
#include "store/store.h"

// Secrets of projects, sealed. They survive a power cut.
namespace cove {
namespace {

#define COLUMNS "project, agent, name, use, hosts, places, placeholder, sealed, created_ms, updated_ms"

SecretRecord read_secret(const Query& row) {
  SecretRecord secret;
  secret.project = row.text(0);
  secret.agent = row.text(1);
  secret.name = row.text(2);
  secret.use = row.text(3);
  secret.hosts = row.text(4);
  secret.places = row.text(5);
  secret.placeholder = row.text(6);
  secret.sealed = row.text(7);
  secret.created_ms = row.integer(8);
  secret.updated_ms = row.integer(9);
  return secret;
}

Error no_secret(const std::string& agent, const std::string& name) {
  return Error(Code::NotFound, agent.empty() ? concat("there is no secret '", name, "'")
                                             : concat("there is no secret '", name, "' of agent '", agent, "'"));
}

}  // namespace

Result<uint64_t> Store::put_secret(const SecretRecord& secret, std::span<const EventDraft> events) {
  return change({"put_secret", Survives::PowerCut}, events, [&]() -> Result<void> {
    Result<void> done =
        database_->run("INSERT INTO project_secrets (" COLUMNS
                       ") VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS BLOB), ?, ?) "
                       "ON CONFLICT (project, agent, name) DO UPDATE SET use = excluded.use, hosts = excluded.hosts, "
                       "places = excluded.places, placeholder = excluded.placeholder, sealed = excluded.sealed, "
                       "updated_ms = excluded.updated_ms",
                       secret.project, secret.agent, secret.name, secret.use, secret.hosts, secret.places,
                       secret.placeholder, secret.sealed, secret.created_ms, secret.updated_ms);
    if (!done && done.error().code() == Code::NotFound)
      return fail(Code::NotFound, concat("there is no project '", secret.project, "'"));
    return done;
  });
}

Result<std::vector<SecretRecord>> Store::list_secrets(const std::string& project) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query(
      "SELECT " COLUMNS " FROM project_secrets WHERE ?1 = '' OR project = ?1 ORDER BY created_ms, agent, name",
      project));
  std::vector<SecretRecord> secrets;
  while (COVE_TRY(rows.next())) secrets.push_back(read_secret(rows));
  return secrets;
}

Result<SecretRecord> Store::find_secret(const std::string& project, const std::string& agent, const std::string& name) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query(
      "SELECT " COLUMNS " FROM project_secrets WHERE project = ? AND agent = ? AND name = ?", project, agent, name));
  if (!COVE_TRY(row.next())) return fail(no_secret(agent, name));
  return read_secret(row);
}

Result<uint64_t> Store::remove_secret(const std::string& project, const std::string& agent, const std::string& name,
                                      std::span<const EventDraft> events) {
  return change({"remove_secret", Survives::PowerCut}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM project_secrets WHERE project = ? AND agent = ? AND name = ?", project, agent,
                            name));
    if (database_->changes() == 0) return fail(no_secret(agent, name));
    return {};
  });
}

Result<std::optional<SecretSeed>> Store::secret_seed() {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT key_id, sealed FROM secret_seed"));
  if (!COVE_TRY(row.next())) return std::nullopt;
  return SecretSeed{row.text(0), row.text(1)};
}

Result<void> Store::reseal_secrets(const SecretSeed& seed, std::span<const SecretRecord> secrets) {
  COVE_TRY(change({"reseal_secrets", Survives::PowerCut}, {}, [&]() -> Result<void> {
    COVE_TRY(
        database_->run("INSERT INTO secret_seed VALUES (1, ?, CAST(? AS BLOB)) ON CONFLICT (one) DO UPDATE SET "
                       "key_id = excluded.key_id, sealed = excluded.sealed",
                       seed.key_id, seed.sealed));
    for (const SecretRecord& secret : secrets)
      COVE_TRY(database_->run(
          "UPDATE project_secrets SET sealed = CAST(? AS BLOB) WHERE project = ? AND agent = ? AND name = ?",
          secret.sealed, secret.project, secret.agent, secret.name));
    return {};
  }));
  return {};
}

}  // namespace cove
