#include "base/text.h"
#include "store/cursor.h"
#include "store/database.h"
#include "store/store.h"

namespace cove {
namespace {

#define COLUMNS "id, project, kind, target, state, progress, result, error, version, created_ms, updated_ms, ended_ms"

OperationRecord read(const Query& row) {
  OperationRecord operation;
  operation.id = row.text(0);
  operation.project = row.text(1);
  operation.kind = row.text(2);
  operation.target = row.text(3);
  operation.state = row.text(4);
  operation.progress = row.text(5);
  operation.result = row.text(6);
  operation.error = row.text(7);
  operation.version = static_cast<uint64_t>(row.integer(8));
  operation.created_ms = row.integer(9);
  operation.updated_ms = row.integer(10);
  operation.ended_ms = row.integer(11);
  return operation;
}

}  // namespace

std::string cursor(const OperationRecord& operation) { return to_cursor({operation.created_ms, operation.id}); }

Result<void> Store::insert_operation(const OperationRecord& operation) {
  COVE_TRY(change({"insert_operation"}, {}, [&]() -> Result<void> {
    Result<void> done = database_->run(
        "INSERT INTO operations (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", operation.id,
        operation.project, operation.kind, operation.target, operation.state, operation.progress, operation.result,
        operation.error, operation.version, operation.created_ms, operation.updated_ms, operation.ended_ms);
    if (!done && done.error().code() == Code::Exists)
      return fail(Code::Exists, concat("there is an operation '", operation.id, "' already"));
    return done;
  }));
  return {};
}

Result<void> Store::update_operation(const OperationRecord& operation) {
  COVE_TRY(change({"update_operation"}, {}, [&] {
    return database_->run(
        "UPDATE operations SET state = ?, progress = ?, result = ?, error = ?, version = ?, updated_ms = ?, "
        "ended_ms = ? WHERE id = ?",
        operation.state, operation.progress, operation.result, operation.error, operation.version, operation.updated_ms,
        operation.ended_ms, operation.id);
  }));
  return {};
}

Result<OperationRecord> Store::find_operation(const std::string& project, const std::string& id) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query("SELECT " COLUMNS " FROM operations WHERE id = ?", id));
  if (COVE_TRY(row.next()) && (project.empty() || row.text(1) == project)) return read(row);
  return fail(Code::NotFound, concat("there is no operation '", id, "'"));
}

Result<std::vector<OperationRecord>> Store::list_operations(const OperationFilter& filter, const std::string& after,
                                                            size_t limit) {
  Place place = COVE_TRY(parse_cursor(after));
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query("SELECT " COLUMNS " FROM operations WHERE (created_ms, id) > (?1, ?2) "
                                         "AND (?3 = '' OR project = ?3) AND (?4 = '' OR state = ?4) "
                                         "AND (?5 = '' OR kind = ?5) ORDER BY created_ms, id LIMIT ?6",
                                         place.time_ms, place.id, filter.project, filter.state, filter.kind,
                                         static_cast<uint64_t>(limit)));
  std::vector<OperationRecord> operations;
  while (COVE_TRY(rows.next())) operations.push_back(read(rows));
  return operations;
}

Result<uint64_t> Store::interrupt_operations(const std::string& error, int64_t time_ms) {
  uint64_t interrupted = 0;
  COVE_TRY(change({"interrupt_operations"}, {}, [&]() -> Result<void> {
    COVE_TRY(
        database_->run("UPDATE operations SET state = 'failed', error = ?1, version = version + 1, updated_ms = ?2, "
                       "ended_ms = ?2 WHERE state = 'running'",
                       error, time_ms));
    interrupted = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return interrupted;
}

Result<uint64_t> Store::prune_operations(int64_t ended_before_ms) {
  uint64_t removed = 0;
  COVE_TRY(change({"prune_operations"}, {}, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM operations WHERE ended_ms > 0 AND ended_ms < ?", ended_before_ms));
    removed = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return removed;
}

}  // namespace cove
