#include "engine/service/attendance.h"

#include <vector>

namespace cove::engine {
namespace {

void kill(const std::weak_ptr<Exec>& exec) {
  std::shared_ptr<Exec> there = exec.lock();
  if (there && !there->ended()) (void)there->kill();
}

}  // namespace

void Attendance::expect(const std::shared_ptr<Exec>& exec, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  execs_[exec->info().id] = {exec, now + kPatience};
}

void Attendance::begin(const std::string& exec) {
  std::lock_guard lock(mutex_);
  auto found = execs_.find(exec);
  if (found != execs_.end()) ++found->second.attending;
}

void Attendance::end(const std::string& exec, Parting parting) {
  std::weak_ptr<Exec> left;
  {
    std::lock_guard lock(mutex_);
    auto found = execs_.find(exec);
    if (found == execs_.end() || --found->second.attending > 0) return;
    left = found->second.exec;
    execs_.erase(found);
  }
  if (parting == Parting::Lost) kill(left);
}

void Attendance::sweep(Clock::time_point now) {
  std::vector<std::weak_ptr<Exec>> left;
  {
    std::lock_guard lock(mutex_);
    for (auto at = execs_.begin(); at != execs_.end();) {
      std::shared_ptr<Exec> exec = at->second.exec.lock();
      bool gone = !exec || exec->ended();
      bool alone = at->second.attending == 0 && now >= at->second.deadline;
      if (alone && !gone) left.push_back(exec);
      at = gone || alone ? execs_.erase(at) : std::next(at);
    }
  }
  for (const auto& exec : left) kill(exec);
}

}  // namespace cove::engine
