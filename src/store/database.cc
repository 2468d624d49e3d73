#include "store/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace cove {
namespace {

constexpr int kBusyMs = 5000;

Code code_of(int status) {
  switch (status) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return Code::Exists;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return Code::NotFound;
    default:
      break;
  }
  switch (status & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return Code::Exhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::Unavailable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::Denied;
    default:
      return Code::Internal;
  }
}

std::string advice_for(int status, const std::string& path) {
  switch (status & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return concat("the file is damaged: restore ", path,
                    " from a backup, or move it away to begin with an empty one");
    case SQLITE_FULL:
      return concat("make room on the disk of ", path);
    default:
      return "";
  }
}

Error error_of(sqlite3* connection, const std::string& path) {
  int status = sqlite3_extended_errcode(connection);
  Code code = code_of(status);
  if ((status & 0xff) == SQLITE_IOERR && sqlite3_system_errno(connection) == ENOSPC) code = Code::Exhausted;
  return Error(code, concat(path, ": ", std::string_view(sqlite3_errmsg(connection)))).hint(advice_for(status, path));
}

}  // namespace

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Result<bool> Query::next() {
  int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return fail(error_of(sqlite3_db_handle(statement_), *path_));
}

std::string Query::text(int column) const {
  // A blob of no length has no address.
  const void* bytes = sqlite3_column_blob(statement_, column);
  size_t size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

namespace {

int keep_name(sqlite3_vfs*, const char* name, int size, char* full) {
  int length = std::snprintf(full, static_cast<size_t>(size), "%s", name);
  return length < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

// SQLite's usual files, but for making names absolute: the folders above the working folder may be closed to this user.
const char* files_as_named() {
  static sqlite3_vfs files = [] {
    sqlite3_vfs copy = *sqlite3_vfs_find(nullptr);
    copy.zName = "cove";
    copy.pNext = nullptr;
    copy.xFullPathname = keep_name;
    return copy;
  }();
  static const int registered = sqlite3_vfs_register(&files, 0);
  return registered == SQLITE_OK ? files.zName : nullptr;
}

}  // namespace

void Query::bind(int place, std::string_view value) {
  // An empty text is '', not NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_text64(statement_, place, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Query::bind(int place, int64_t value) { sqlite3_bind_int64(statement_, place, value); }

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  std::unique_ptr<Database> database(new Database());
  database->path_ = path;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (sqlite3_open_v2(path.c_str(), &database->connection_, flags, files_as_named()) != SQLITE_OK)
    return fail(error_of(database->connection_, path));
  COVE_TRY(database->configure());
  return database;
}

Database::~Database() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(connection_);
}

Result<void> Database::configure() {
  sqlite3_busy_timeout(connection_, kBusyMs);
  COVE_TRY(
      execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-8192; "
              // Debian's SQLite overwrites all that is deleted: results of many megabytes would be copied into memory.
              "PRAGMA secure_delete=OFF; "
              "PRAGMA temp_store=MEMORY"));
  // In place of SQLite's own, which would checkpoint within whichever commit it happens to be.
  sqlite3_wal_hook(connection_, note_journal, this);
  return {};
}

int Database::note_journal(void* database, sqlite3*, const char*, int pages) {
  static_cast<Database*>(database)->journal_pages_ = pages;
  return SQLITE_OK;
}

Result<Query> Database::prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr &&
      sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    return fail(error_of(connection_, path_));
  return Query(statement, path_);
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(error_of(connection_, path_));
}

Result<void> Database::copy_to(const std::string& path) {
  sqlite3* other = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int status = sqlite3_open_v2(path.c_str(), &other, flags, files_as_named());
  if (status == SQLITE_OK) {
    sqlite3_backup* copy = sqlite3_backup_init(other, "main", connection_, "main");
    if (copy != nullptr) {
      sqlite3_backup_step(copy, -1);
      sqlite3_backup_finish(copy);
    }
    status = sqlite3_errcode(other);
  }
  Result<void> copied;
  if (status != SQLITE_OK) copied = fail(error_of(other, path));
  sqlite3_close(other);
  return copied;
}

int64_t Database::changes() const { return sqlite3_changes64(connection_); }

int64_t Database::inserted() const { return sqlite3_last_insert_rowid(connection_); }

Result<void> Database::checkpoint() {
  int status = sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (status == SQLITE_OK || status == SQLITE_BUSY) return {};
  return fail(error_of(connection_, path_));
}

Result<Transaction> Transaction::begin(Database& database) {
  COVE_TRY(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Result<void> Transaction::commit() {
  COVE_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace cove
