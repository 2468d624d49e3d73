#include "store/schema.h"

#include "base/crash_point.h"
#include "base/text.h"

namespace cove {
namespace {

constexpr Migration kVersion1 = R"sql(
CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  quotas TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandboxes (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL REFERENCES projects(id),
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  spec TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX sandboxes_by_name ON sandboxes(project, name) WHERE name <> '';
CREATE INDEX sandboxes_by_age ON sandboxes(created_ms, id);

CREATE TABLE execs (
  id TEXT PRIMARY KEY,
  sandbox_id TEXT NOT NULL REFERENCES sandboxes(id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  tag TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  position INTEGER NOT NULL,
  spec TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT;
CREATE INDEX execs_by_age ON execs(sandbox_id, started_ms, id);

-- Numbers rise by one without AUTOINCREMENT, because the newest event is never removed.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  exec_id TEXT NOT NULL,
  actor TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  salt TEXT NOT NULL,
  hash TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  project TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO projects VALUES ('default', '{}', CAST(1000 * unixepoch() AS INTEGER));
)sql";

// Sessions. A sandbox that serves a scope says which, in its own row: they come and go together.
constexpr Migration kVersion2 = R"sql(
ALTER TABLE sandboxes ADD COLUMN binding TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX sandboxes_by_binding ON sandboxes(project, binding) WHERE binding <> '';

ALTER TABLE execs ADD COLUMN session TEXT NOT NULL DEFAULT '';
CREATE INDEX execs_by_session ON execs(session) WHERE session <> '';

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  agent TEXT NOT NULL,
  scope TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  sandbox_id TEXT REFERENCES sandboxes(id) ON DELETE SET NULL,
  idle_ms INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  spec TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_age ON sessions(created_ms, id);
CREATE INDEX sessions_by_sandbox ON sessions(sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX sessions_by_expiry ON sessions(last_used_ms + idle_ms) WHERE state = 'active' AND idle_ms > 0;
)sql";

// Version 3 had a log of its own beside the database (cove.redo), and noted here what of it was committed.
constexpr Migration kVersion3 = "";
constexpr Migration kVersion4 = "DELETE FROM meta WHERE name = 'batch';";

// Execs outlive their sandbox, usage outlives execs, operations outlive the server; events are found by project,
// sandbox and session.
constexpr Migration kVersion5 = R"sql(
CREATE TABLE removed_sandboxes (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  removed_ms INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_execs (
  id TEXT PRIMARY KEY,
  sandbox_id TEXT NOT NULL,
  state TEXT NOT NULL,
  tag TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  position INTEGER NOT NULL,
  spec TEXT NOT NULL,
  result TEXT NOT NULL,
  session TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO kept_execs SELECT id, sandbox_id, state, tag, started_ms, ended_ms, position, spec, result, session FROM execs;
DROP TABLE execs;
ALTER TABLE kept_execs RENAME TO execs;
CREATE INDEX execs_by_age ON execs(sandbox_id, started_ms, id);
CREATE INDEX execs_by_session ON execs(session) WHERE session <> '';

ALTER TABLE events ADD COLUMN session TEXT NOT NULL DEFAULT '';
UPDATE events SET session = json_extract(data, '$.session')
  WHERE json_valid(data) AND json_type(data, '$.session') = 'text';
CREATE INDEX events_by_project ON events(project, seq, kind);
CREATE INDEX events_by_sandbox ON events(sandbox_id, seq) WHERE sandbox_id <> '';
CREATE INDEX events_by_session ON events(session, seq) WHERE session <> '';

CREATE TABLE usage (
  id INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  session TEXT NOT NULL,
  exec_id TEXT NOT NULL,
  context_id TEXT NOT NULL,
  status TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  cpu_user_ms INTEGER NOT NULL,
  cpu_system_ms INTEGER NOT NULL,
  memory_peak_bytes INTEGER NOT NULL,
  disk_written_bytes INTEGER NOT NULL,
  io_read_bytes INTEGER NOT NULL,
  io_write_bytes INTEGER NOT NULL,
  net_in_bytes INTEGER NOT NULL,
  net_out_bytes INTEGER NOT NULL,
  output_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO usage
  SELECT NULL, project, sandbox_id, session, exec_id, '', coalesce(data ->> 'status', ''),
    time_ms - coalesce(CAST(data ->> 'duration_ms' AS INTEGER), 0), time_ms,
    coalesce(CAST(data ->> 'duration_ms' AS INTEGER), 0), coalesce(CAST(data ->> 'cpu_user_ms' AS INTEGER), 0),
    coalesce(CAST(data ->> 'cpu_system_ms' AS INTEGER), 0), coalesce(CAST(data ->> 'memory_peak_bytes' AS INTEGER), 0),
    coalesce(CAST(data ->> 'disk_written_bytes' AS INTEGER), 0), coalesce(CAST(data ->> 'io_read_bytes' AS INTEGER), 0),
    coalesce(CAST(data ->> 'io_write_bytes' AS INTEGER), 0), 0, 0,
    coalesce(CAST(data ->> 'output_bytes' AS INTEGER), 0)
  FROM events WHERE kind = 'exec.ended' AND json_valid(data) ORDER BY seq;
CREATE INDEX usage_by_project ON usage(project, ended_ms);
CREATE INDEX usage_by_sandbox ON usage(sandbox_id, ended_ms);
CREATE INDEX usage_by_session ON usage(session, ended_ms) WHERE session <> '';
CREATE INDEX usage_by_context ON usage(context_id) WHERE context_id <> '';

CREATE TABLE operations (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  progress TEXT NOT NULL,
  result TEXT NOT NULL,
  error TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX operations_by_age ON operations(project, created_ms, id);
CREATE INDEX operations_by_end ON operations(ended_ms);
)sql";

// Idempotency keys of all requests that make something, with their answers. Those of the day before are forgotten.
constexpr Migration kVersion6 = R"sql(
DROP TABLE idempotency;
CREATE TABLE idempotency (
  project TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  made TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  size INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX idempotency_by_key ON idempotency(project, key);
CREATE INDEX idempotency_by_made ON idempotency(made) WHERE made <> '';
)sql";

// Networks: the bounds of projects and their agents (of the server, where the project is empty), rules that were
// approved for good, and requests for access.
constexpr Migration kVersion7 = R"sql(
CREATE TABLE network_policies (
  project TEXT NOT NULL,
  agent TEXT NOT NULL,
  version INTEGER NOT NULL,
  policy TEXT NOT NULL,
  PRIMARY KEY (project, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE network_rules (
  project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  rule TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY (project, subject, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE network_requests (
  id TEXT PRIMARY KEY,
  sandbox_id TEXT NOT NULL REFERENCES sandboxes(id) ON DELETE CASCADE,
  created_ms INTEGER NOT NULL,
  request TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX network_requests_by_sandbox ON network_requests(sandbox_id, created_ms, id);
)sql";

// Secrets of projects and agents.
constexpr Migration kVersion8 = R"sql(
CREATE TABLE project_secrets (
  project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  agent TEXT NOT NULL,
  name TEXT NOT NULL,
  use TEXT NOT NULL,
  hosts TEXT NOT NULL,
  places TEXT NOT NULL,
  placeholder TEXT NOT NULL,
  sealed BLOB NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (project, agent, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE secret_seed (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  key_id TEXT NOT NULL,
  sealed BLOB NOT NULL
) STRICT;
)sql";

constexpr Migration kMigrations[] = {kVersion1, kVersion2, kVersion3, kVersion4,
                                     kVersion5, kVersion6, kVersion7, kVersion8};

Error newer(int64_t version, size_t known) {
  return Error(Code::Unsupported, concat("the state was written by a newer Cove: its version is ", version,
                                         ", and this one knows up to ", known))
      .hint(
          "install that newer Cove, name another state folder, or restore cove.db from the backup that was made "
          "before the update (cove.db.backup-vN beside it)");
}

}  // namespace

Result<int64_t> version_of(Database& database) {
  if (COVE_TRY(database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'")) == 0)
    return 0;
  return database.number("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'schema_version'");
}

std::span<const Migration> migrations() { return kMigrations; }

Result<void> migrate(Database& database, std::span<const Migration> list) {
  int64_t newest = static_cast<int64_t>(list.size());
  int64_t version = COVE_TRY(version_of(database));
  if (version == newest) return {};
  if (version > newest || version < 0) return fail(newer(version, list.size()));
  Transaction transaction = COVE_TRY(Transaction::begin(database));
  COVE_TRY(database.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"));
  for (int64_t step = version; step < newest; ++step)
    COVE_TRY_NOTE(concat("bring the state to version ", step + 1), database.execute(list[static_cast<size_t>(step)]));
  COVE_TRY(database.run(
      "INSERT INTO meta VALUES ('schema_version', ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
      std::to_string(newest)));
  crash_point("store.migrate.before_commit");
  COVE_TRY(transaction.commit());
  crash_point("store.migrate.after_commit");
  return {};
}

}  // namespace cove
