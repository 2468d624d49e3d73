#include "engine/exec/log_budget.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/exec/exec_log.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

// Other files are not logs.
bool is_exec_id(std::string_view name) {
  constexpr size_t kIdSize = 20;
  return name.size() == kIdSize && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == name.npos;
}

}  // namespace

LogBudget::~LogBudget() { change(used_, 0); }

LogBudget::Share::Share(std::shared_ptr<LogBudget> budget, std::string path)
    : budget_(std::move(budget)), path_(std::move(path)) {
  ++budget_->running_;
  std::lock_guard lock(budget_->mutex_);
  budget_->open_.insert(path_);
}

LogBudget::Share::~Share() {
  --budget_->running_;
  std::lock_guard lock(budget_->mutex_);
  budget_->open_.erase(path_);
  if (bytes_ > 0 || record_ > 0) budget_->ended_.push_back({path_, bytes_, record_});
  budget_->keep_within();
}

void LogBudget::Share::set(uint64_t bytes) {
  budget_->change(std::exchange(bytes_, bytes), bytes);
  if (budget_->used_ <= budget_->most_) return;
  std::lock_guard lock(budget_->mutex_);
  budget_->keep_within();
}

void LogBudget::Share::set_record(uint64_t bytes) { budget_->change(std::exchange(record_, bytes), bytes); }

uint64_t LogBudget::most_running() const { return std::max<uint64_t>(1, most_ / 2 / kLeastWindow); }

Result<void> LogBudget::check_room() const {
  if (running_ < most_running()) return {};
  return fail(Error(Code::Exhausted, concat("start an exec: ", running_.load(), " run in this sandbox already"))
                  .hint("wait until one has ended; the setting exec_logs bounds how many there can be"));
}

uint64_t LogBudget::window() const {
  return std::clamp(most_ / 2 / std::max<uint64_t>(running_, 1), kLeastWindow, ExecLog::kWindow);
}

void LogBudget::change(uint64_t from, uint64_t to) {
  used_ += to - from;
  *project_ += to - from;
}

void LogBudget::keep_within() {
  for (auto each = ended_.begin(); used_ > most_ && each != ended_.end(); ++each) {
    if (each->bytes == 0) continue;
    ExecLog::empty(each->path);
    change(std::exchange(each->bytes, 0), 0);
  }
  while (used_ > most_ && ended_.size() > 1) {
    drop_(ended_.front().path);
    change(ended_.front().record, 0);
    ended_.pop_front();
  }
}

void LogBudget::forget(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(ended_, path, &Ended::path);
  if (found == ended_.end()) return;
  change(found->bytes + found->record, 0);
  ended_.erase(found);
}

void LogBudget::release() {
  std::lock_guard lock(mutex_);
  ended_.clear();
  change(used_, 0);
}

void LogBudget::recover(const std::string& folder, const std::vector<Record>& records) {
  struct Log {
    int64_t time;
    uint64_t bytes;
  };
  std::map<std::string, Log> logs;
  std::lock_guard lock(mutex_);
  auto is_known = [&](const std::string& path) {
    return open_.contains(path) || std::ranges::find(ended_, path, &Ended::path) != ended_.end();
  };
  for (const std::string& name : sys::list_folder(folder).value_or(std::vector<std::string>())) {
    std::string path = concat(folder, "/", name);
    Result<struct stat> info = sys::lstat(path);
    if (!info || !S_ISREG(info->st_mode) || !is_exec_id(name) || is_known(path)) continue;
    constexpr uint64_t kBlock = 512;  // of st_blocks; what was let go has none
    logs[path] = {info->st_mtim.tv_sec, static_cast<uint64_t>(info->st_blocks) * kBlock};
  }
  std::vector<Ended> found;
  for (const Record& record : records) {
    std::string path = concat(folder, "/", record.id);
    if (is_known(path)) continue;
    auto log = logs.extract(path);
    found.push_back({std::move(path), log ? log.mapped().bytes : 0, record.bytes});
  }
  // Logs without a record are the oldest.
  std::vector<std::pair<int64_t, Ended>> others;
  for (const auto& [path, log] : logs) others.push_back({log.time, {path, log.bytes, 0}});
  std::ranges::sort(others, {}, &std::pair<int64_t, Ended>::first);
  auto take = [this](Ended& ended) {
    change(0, ended.bytes + ended.record);
    ended_.push_back(std::move(ended));
  };
  for (auto& [time, ended] : others) take(ended);
  for (Ended& ended : found) take(ended);
  keep_within();
}

}  // namespace cove::engine
