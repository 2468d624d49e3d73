#include "engine/live/log_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/live/exec_log.h"
#include "sys/file.h"

namespace cove::live {
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
  if (bytes_ > 0) budget_->ended_.push_back({path_, bytes_});
  budget_->keep_within();
}

void LogBudget::Share::set(uint64_t bytes) {
  budget_->change(std::exchange(bytes_, bytes), bytes);
  if (budget_->used_ <= budget_->most_) return;
  std::lock_guard lock(budget_->mutex_);
  budget_->keep_within();
}

uint64_t LogBudget::window() const {
  return std::clamp(most_ / 2 / std::max<uint64_t>(running_, 1), kLeastWindow, ExecLog::kWindow);
}

void LogBudget::change(uint64_t from, uint64_t to) {
  used_ += to - from;
  *project_ += to - from;
}

void LogBudget::keep_within() {
  while (used_ > most_ && !ended_.empty()) {
    Ended oldest = std::move(ended_.front());
    ended_.pop_front();
    ExecLog::empty(oldest.path);
    change(oldest.bytes, 0);
  }
}

void LogBudget::forget(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(ended_, path, &Ended::path);
  if (found == ended_.end()) return;
  change(found->bytes, 0);
  ended_.erase(found);
}

void LogBudget::recover(const std::string& folder) {
  struct Found {
    int64_t time;
    Ended log;
  };
  std::vector<Found> found;
  std::lock_guard lock(mutex_);
  for (const std::string& name : sys::list_folder(folder).value_or(std::vector<std::string>())) {
    std::string path = concat(folder, "/", name);
    Result<struct stat> info = sys::lstat(path);
    if (!info || !S_ISREG(info->st_mode) || !is_exec_id(name) || open_.contains(path)) continue;
    constexpr uint64_t kBlock = 512;  // of st_blocks; what was let go has none
    found.push_back({info->st_mtim.tv_sec, {path, static_cast<uint64_t>(info->st_blocks) * kBlock}});
  }
  std::ranges::sort(found, {}, &Found::time);
  for (Found& each : found) {
    if (std::ranges::find(ended_, each.log.path, &Ended::path) != ended_.end()) continue;
    change(0, each.log.bytes);
    ended_.push_back(std::move(each.log));
  }
  keep_within();
}

}  // namespace cove::live
