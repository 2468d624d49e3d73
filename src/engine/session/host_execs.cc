#include "engine/session/host_execs.h"

#include <algorithm>

#include "base/text.h"

namespace cove::engine {

// Can be killed by whoever ends its session, for as long as it is there.
class HostExecs::Process : public HostProcess {
 public:
  Process(HostExecs& execs, std::unique_ptr<HostProcess> process) : execs_(execs), process_(std::move(process)) {
    out = std::move(process_->out);
    err = std::move(process_->err);
    in = std::move(process_->in);
    verdict = std::move(process_->verdict);
  }
  ~Process() override {
    std::lock_guard lock(execs_.mutex_);
    for (Entry& entry : execs_.entries_)
      if (entry.process == process_.get()) entry.process = nullptr;
  }

  int end_fd() const override { return process_->end_fd(); }
  Result<HostRunEnd> end() override { return process_->end(); }
  void kill() override { process_->kill(); }

 private:
  HostExecs& execs_;
  std::unique_ptr<HostProcess> process_;
};

class HostExecs::Runner : public HostRunner {
 public:
  Runner(HostExecs& execs, std::unique_ptr<HostRunner> runner) : execs_(execs), runner_(std::move(runner)) {}

  Result<std::unique_ptr<HostProcess>> start(const HostRunOrder& order, int connection) override {
    std::unique_ptr<HostProcess> process = COVE_TRY(runner_->start(order, connection));
    std::lock_guard lock(execs_.mutex_);
    auto entry = std::ranges::find(execs_.entries_, connection, &Entry::connection);
    if (entry == execs_.entries_.end()) return process;
    // It is killed as it goes.
    if (entry->ended)
      return fail(Error(Code::Conflict, concat("session ", entry->session, " has ended")).hint("start another one"));
    entry->process = process.get();
    return std::make_unique<Process>(execs_, std::move(process));
  }

 private:
  HostExecs& execs_;
  std::unique_ptr<HostRunner> runner_;
};

HostExecs::Use::~Use() {
  if (execs_ == nullptr) return;
  std::lock_guard lock(execs_->mutex_);
  execs_->entries_.erase(entry_);
}

HostExecs::Use HostExecs::use(std::string session, int connection) {
  std::lock_guard lock(mutex_);
  return {*this, entries_.insert(entries_.end(), {.session = std::move(session), .connection = connection})};
}

std::unique_ptr<HostRunner> HostExecs::watch(std::unique_ptr<HostRunner> runner) {
  return std::make_unique<Runner>(*this, std::move(runner));
}

void HostExecs::end(const std::string& session) {
  std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.session != session) continue;
    entry.ended = true;
    if (entry.process != nullptr) entry.process->kill();
  }
}

bool HostExecs::serves(const std::string& session) const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.session == session; });
}

}  // namespace cove::engine
