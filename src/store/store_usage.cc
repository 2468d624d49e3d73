#include <algorithm>

#include "base/text.h"
#include "store/database.h"
#include "store/store.h"
#include "store/usage_rows.h"

namespace cove {
namespace {

constexpr uint64_t kBatch = 500;  // rows removed in one transaction

// In the order of kUsageFields.
#define FIGURES                                                                           \
  "sum(duration_ms), sum(cpu_user_ms), sum(cpu_system_ms), max(memory_peak_bytes), "      \
  "sum(disk_written_bytes), sum(io_read_bytes), sum(io_write_bytes), sum(net_in_bytes), " \
  "sum(net_out_bytes), sum(output_bytes)"

// ?1 project, ?2 since, ?3 until, ?4 sandbox, ?5 session, ?6 agent.
#define MATCHES                                                          \
  " AND (?1 = '' OR project = ?1) AND ended_ms >= ?2 AND ended_ms < ?3 " \
  "AND (?4 = '' OR sandbox_id = ?4) AND (?5 = '' OR session = ?5) "      \
  "AND (?6 = '' OR session IN "                                          \
  "  (SELECT id FROM sessions WHERE agent = ?6 AND sessions.project = usage.project)) "

#define TOTAL(from) "SELECT '', count(*), " FIGURES " FROM usage " from MATCHES
#define BY(column, from)                                                                                \
  "SELECT " column ", count(*), " FIGURES " FROM usage " from MATCHES "AND " column " > ?7 AND " column \
  " <> '' "                                                                                             \
  "GROUP BY " column " ORDER BY " column " LIMIT ?8"

#define OF_PROJECT "INDEXED BY usage_by_project WHERE project = ?1"
#define OF_SANDBOX "INDEXED BY usage_by_sandbox WHERE sandbox_id = ?4"
#define OF_SESSION "INDEXED BY usage_by_session WHERE session = ?5 AND session <> ''"

enum class By { None, Sandbox, Session };

// By the index that leaves out most.
const char* statement(By by, const UsageFilter& filter) {
  constexpr const char* kStatements[][3] = {
      {TOTAL(OF_SANDBOX), TOTAL(OF_SESSION), TOTAL(OF_PROJECT)},
      {BY("sandbox_id", OF_SANDBOX), BY("sandbox_id", OF_SESSION), BY("sandbox_id", OF_PROJECT)},
      {BY("session", OF_SANDBOX), BY("session", OF_SESSION), BY("session", OF_PROJECT)},
  };
  const size_t which = !filter.sandbox_id.empty() ? 0 : !filter.session.empty() ? 1 : 2;
  return kStatements[static_cast<size_t>(by)][which];
}

Result<Query> query(Database& database, By by, const UsageFilter& filter, const std::string& after, size_t limit) {
  return database.query(statement(by, filter), filter.project, filter.since_ms,
                        filter.until_ms == 0 ? INT64_MAX : filter.until_ms, filter.sandbox_id, filter.session,
                        filter.agent, after, static_cast<uint64_t>(limit));
}

UsageTotal read(const Query& row) {
  UsageTotal total;
  total.of = row.text(0);
  total.execs = static_cast<uint64_t>(row.integer(1));
  int column = 2;
  for (const UsageField& field : kUsageFields)
    total.figures.*field.figure = static_cast<uint64_t>(row.integer(column++));
  return total;
}

// An interpreter has used what the code in its context has, which is on record already.
Result<UsageFigures> without_its_code(Database& database, const UsageRecord& usage) {
  UsageFigures figures = usage.figures;
  Query row = COVE_TRY(database.query("SELECT '', count(*), " FIGURES
                                      " FROM usage INDEXED BY usage_by_context WHERE context_id = ?1 AND "
                                      "context_id <> '' AND sandbox_id = ?2",
                                      usage.exec_id, usage.sandbox_id));
  COVE_TRY(row.next());  // an aggregate always has one
  const UsageTotal code = read(row);
  if (code.execs == 0) return figures;
  for (const UsageField& field : kUsageFields)
    if (field.figure != &UsageFigures::memory_peak_bytes)
      figures.*field.figure -= std::min(figures.*field.figure, code.figures.*field.figure);
  return figures;
}

}  // namespace

Result<void> insert_usage(Database& database, const UsageRecord& usage) {
  const UsageFigures figures = COVE_TRY(without_its_code(database, usage));
  return database.run(
      "INSERT INTO usage (project, sandbox_id, session, exec_id, context_id, status, started_ms, ended_ms, "
      "duration_ms, cpu_user_ms, cpu_system_ms, memory_peak_bytes, disk_written_bytes, io_read_bytes, io_write_bytes, "
      "net_in_bytes, net_out_bytes, output_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      usage.project, usage.sandbox_id, usage.session, usage.exec_id, usage.context_id, usage.status, usage.started_ms,
      usage.ended_ms, figures.duration_ms, figures.cpu_user_ms, figures.cpu_system_ms, figures.memory_peak_bytes,
      figures.disk_written_bytes, figures.io_read_bytes, figures.io_write_bytes, figures.net_in_bytes,
      figures.net_out_bytes, figures.output_bytes);
}

Result<UsageTotal> Store::total_usage(const UsageFilter& filter) {
  std::lock_guard turn(reader_mutex_);
  Query row = COVE_TRY(query(*reader_, By::None, filter, "", 0));
  COVE_TRY(row.next());  // an aggregate always has one
  return read(row);
}

Result<std::vector<UsageTotal>> Store::usage_by(UsageBy by, const UsageFilter& filter, const std::string& after,
                                                size_t limit) {
  std::lock_guard turn(reader_mutex_);
  Query rows = COVE_TRY(query(*reader_, by == UsageBy::Sandbox ? By::Sandbox : By::Session, filter, after, limit));
  std::vector<UsageTotal> totals;
  while (COVE_TRY(rows.next())) totals.push_back(read(rows));
  return totals;
}

Result<uint64_t> Store::prune_usage(int64_t ended_before_ms) {
  uint64_t removed = 0;
  while (true) {
    uint64_t batch = COVE_TRY(prune_usage_batch(ended_before_ms));
    removed += batch;
    if (batch < kBatch) return removed;
  }
}

// The oldest have the lowest ids: rows are inserted as execs end.
Result<uint64_t> Store::prune_usage_batch(int64_t ended_before_ms) {
  uint64_t removed = 0;
  COVE_TRY(change({"prune_usage"}, {}, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM usage WHERE id IN (SELECT id FROM usage ORDER BY id LIMIT ?) AND ended_ms < ?",
                            kBatch, ended_before_ms));
    removed = static_cast<uint64_t>(database_->changes());
    return {};
  }));
  return removed;
}

}  // namespace cove
