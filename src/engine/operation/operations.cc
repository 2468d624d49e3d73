#include "engine/operation/operations.h"

#include "base/id.h"
#include "base/text.h"
#include "engine/clock.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTurn(100);         // between looks at how far those are that run
constexpr int64_t kBetweenRecords = 1000;  // milliseconds

OperationError interruption() {
  return {kInterrupted, "the server ended before the operation did",
          "repeat it: what was done already is not done again"};
}

OperationError error_of(const Error& error) {
  return {std::string(code_name(error.code())), error.message(), error.hint()};
}

Error not_there(const std::string& id) { return Error(Code::NotFound, concat("there is no operation '", id, "'")); }

}  // namespace

Operations::Operations(Store& store) : store_(store), keeper_([this] { keep_records(); }) {}

Operations::~Operations() { stop(); }

Result<void> Operations::interrupt_lost() {
  COVE_TRY(store_.interrupt_operations(error_json(interruption()), now_ms()));
  return {};
}

Result<Operations::Shared> Operations::begin(OperationTask task, size_t most) {
  auto live = std::make_shared<Live>();
  live->info.id = make_id();
  live->info.project = task.project;
  live->info.kind = task.kind;
  live->info.target = task.target;
  live->info.created_ms = live->info.updated_ms = live->recorded_ms = now_ms();
  live->task = std::move(task);
  std::lock_guard lock(mutex_);
  if (stopping_) return fail(Code::Unavailable, "the server is stopping");
  if (running_.size() >= most)
    return fail(Error(Code::Exhausted, concat(running_.size(), " operations are running")).hint("wait for one to end"));
  COVE_TRY_NOTE("record the operation", store_.insert_operation(record_of(live->info)));
  running_[live->info.id] = live;
  changed_.notify_all();
  return live;
}

Result<OperationInfo> Operations::start(OperationTask task) {
  Shared live = COVE_TRY(begin(std::move(task), kMostAtOnce));
  std::vector<std::thread> ended;
  OperationInfo info;
  {
    std::lock_guard lock(mutex_);
    info = live->info;
    live->thread = std::thread([this, live] { static_cast<void>(work(live)); });
    ended.swap(ended_);
  }
  for (std::thread& each : ended) each.join();
  return info;
}

Result<std::string> Operations::run(OperationTask task) { return work(COVE_TRY(begin(std::move(task), SIZE_MAX))); }

Result<std::string> Operations::work(const Shared& live) {
  Result<std::string> outcome = live->task.work();
  std::lock_guard lock(mutex_);
  end(*live, outcome);
  if (live->thread.joinable()) ended_.push_back(std::move(live->thread));
  running_.erase(live->info.id);
  changed_.notify_all();
  return outcome;
}

// On record before anyone can see it.
void Operations::end(Live& live, const Result<std::string>& outcome) {
  measure(live);
  OperationInfo& info = live.info;
  info.updated_ms = info.ended_ms = now_ms();
  ++info.version;
  if (outcome) {
    info.state = OperationState::Succeeded;
    info.result = *outcome;
  } else if (live.cancelled) {
    info.state = OperationState::Cancelled;
  } else {
    info.state = OperationState::Failed;
    info.error = stopping_ ? interruption() : error_of(outcome.error());
  }
  static_cast<void>(store_.update_operation(record_of(info)));
}

void Operations::measure(Live& live) const {
  if (!live.task.progress) return;
  OperationProgress now = live.task.progress();
  if (now == live.info.progress) return;
  live.info.progress = std::move(now);
  live.info.updated_ms = now_ms();
  ++live.info.version;
}

void Operations::keep_records() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || !running_.empty(); });
    for (auto& [id, live] : running_) {
      const uint64_t before = live->info.version;
      measure(*live);
      if (live->info.version != before) changed_.notify_all();
      if (live->info.version == live->recorded || now_ms() - live->recorded_ms < kBetweenRecords) continue;
      live->recorded = live->info.version;
      live->recorded_ms = now_ms();
      static_cast<void>(store_.update_operation(record_of(live->info)));
    }
    changed_.wait_for(lock, kTurn, [this] { return stopping_; });
  }
}

Operations::Shared Operations::find_live(const std::string& project, const std::string& id) const {
  auto found = running_.find(id);
  return found == running_.end() || found->second->info.project != project ? nullptr : found->second;
}

Result<OperationInfo> Operations::find(const std::string& project, const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    if (Shared live = find_live(project, id)) return live->info;
  }
  if (project.empty()) return fail(not_there(id));
  return info_of(COVE_TRY(store_.find_operation(project, id)));
}

Result<Page<OperationInfo>> Operations::list(const std::string& project, const Filter& filter, const std::string& after,
                                             size_t limit) {
  Store::OperationFilter wanted{project, filter.state ? operation_state_name(*filter.state) : "", filter.kind};
  std::vector<OperationRecord> records = COVE_TRY(store_.list_operations(wanted, after, limit + 1));
  Page<OperationInfo> page;
  if (records.size() > limit) {
    page.next = cursor(records[limit - 1]);
    records.resize(limit);
  }
  std::lock_guard lock(mutex_);
  for (const OperationRecord& record : records) {
    Shared live = find_live(project, record.id);
    page.items.push_back(live ? live->info : COVE_TRY(info_of(record)));
  }
  return page;
}

Result<OperationInfo> Operations::wait(const std::string& project, const std::string& id, uint64_t seen,
                                       milliseconds patience) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] {
      Shared live = find_live(project, id);
      return stopping_ || !live || live->info.version != seen;
    });
  }
  return find(project, id);
}

Result<OperationInfo> Operations::cancel(const std::string& project, const std::string& id) {
  std::unique_lock lock(mutex_);
  Shared live = find_live(project, id);
  if (!live) {
    lock.unlock();
    OperationInfo ended = COVE_TRY(find(project, id));
    return fail(Code::Conflict, concat("operation ", id, " has ended already: ", operation_state_name(ended.state)));
  }
  if (!live->task.cancel)
    return fail(Error(Code::Conflict, concat("operation ", id, " (", live->info.kind, ") cannot be cancelled"))
                    .hint("wait for its end"));
  live->cancelled = true;
  live->task.cancel();
  return live->info;
}

void Operations::prune(int64_t ended_before_ms) { static_cast<void>(store_.prune_operations(ended_before_ms)); }

void Operations::stop() {
  {
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    for (auto& [id, live] : running_)
      if (live->task.cancel) live->task.cancel();
    changed_.notify_all();
    changed_.wait(lock, [this] { return running_.empty(); });
  }
  keeper_.join();
  for (std::thread& each : ended_) each.join();
  ended_.clear();
}

}  // namespace cove::engine
