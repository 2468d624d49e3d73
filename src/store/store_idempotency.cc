#include "base/text.h"
#include "store/idempotency.h"
#include "store/store.h"

namespace cove {
namespace {

#define COLUMNS "project, key, request_hash, made, time_ms, status, headers, body"

// Larger ones are rare: it is they that need room to be made.
constexpr size_t kLarge = 64 << 10;

Result<void> write(Database& database, const char* statement, const Idempotency& entry) {
  return database.run(statement, entry.project, entry.key, entry.request_hash, entry.made, entry.time_ms,
                      static_cast<int64_t>(entry.status), entry.headers, entry.body,
                      static_cast<int64_t>(entry.body.size()));
}

Result<void> make_room(Database& database, const std::string& project, uint64_t most) {
  return database.run(
      "DELETE FROM idempotency WHERE rowid IN (SELECT rowid FROM (SELECT rowid, sum(size) OVER (ORDER BY rowid DESC) "
      "AS "
      "total FROM idempotency WHERE project = ?1) WHERE total > ?2)",
      project, most);
}

}  // namespace

Result<void> insert_idempotency(Database& database, const Idempotency& entry) {
  Result<void> done =
      write(database, "INSERT INTO idempotency (" COLUMNS ", size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entry);
  if (!done && done.error().code() == Code::Exists)
    return fail(Code::Exists, concat("the idempotency key '", entry.key, "' has been used"));
  return done;
}

Result<void> Store::put_idempotency(const Idempotency& entry) {
  COVE_TRY(change({"put_idempotency"}, {}, [&]() -> Result<void> {
    COVE_TRY(write(*database_,
                   "INSERT OR REPLACE INTO idempotency (" COLUMNS ", size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entry));
    if (entry.body.size() < kLarge) return {};
    return make_room(*database_, entry.project, kMostIdempotencyBytes);
  }));
  return {};
}

Result<void> Store::forget_idempotency(const std::string& project, const std::string& key) {
  COVE_TRY(change({"forget_idempotency"}, {}, [&] {
    return database_->run("DELETE FROM idempotency WHERE project = ? AND key = ?", project, key);
  }));
  return {};
}

Result<std::optional<Idempotency>> Store::find_idempotency(const std::string& project, const std::string& key) {
  std::lock_guard turn(mutex_);
  Query row =
      COVE_TRY(database_->query("SELECT " COLUMNS " FROM idempotency WHERE project = ? AND key = ?", project, key));
  if (!COVE_TRY(row.next())) return std::optional<Idempotency>();
  return Idempotency{row.text(0), row.text(1),    row.text(2),
                     row.text(3), row.integer(4), static_cast<int>(row.integer(5)),
                     row.text(6), row.text(7)};
}

Result<uint64_t> Store::prune_idempotency(int64_t older_than_ms) {
  uint64_t removed = 0;
  COVE_TRY(change({"prune_idempotency"}, {}, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM idempotency WHERE time_ms < ?", older_than_ms));
    removed = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return removed;
}

}  // namespace cove
