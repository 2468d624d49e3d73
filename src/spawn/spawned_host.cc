#include <sys/eventfd.h>

#include <mutex>

#include "base/id.h"
#include "base/text.h"
#include "runtime/host_runner.h"
#include "spawn/client.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

// Receives cove-spawn's reply; the HostProcess may be destroyed by then.
struct HostOutcome {
  std::mutex mutex;
  Result<HostRunEnd> end = fail(Code::Internal, "the run has not ended");
  UniqueFd ended;

  void take(Result<SpawnClient::Answer> answer) {
    {
      std::lock_guard lock(mutex);
      if (answer) {
        Reader in(answer->body);
        end = spawn::decode_host_end(in);
      } else {
        end = std::unexpected(answer.error());
      }
    }
    ::eventfd_write(ended.get(), 1);
  }
};

class SpawnedHostProcess : public HostProcess {
 public:
  SpawnedHostProcess(std::shared_ptr<SpawnClient> spawn, std::shared_ptr<HostOutcome> outcome)
      : spawn_(std::move(spawn)), outcome_(std::move(outcome)) {}
  ~SpawnedHostProcess() override { kill(); }

  Result<void> start(const HostRunOrder& order, int connection) {
    sys::Pipe output = COVE_TRY(sys::pipe());
    sys::Pipe errors = COVE_TRY(sys::pipe());
    sys::Pipe third = COVE_TRY(sys::pipe());
    const bool judged = order.fence == HostFence::Reading;
    Writer request;
    request.text(id_);
    spawn::encode(request, order);
    if (request.data().size() + 64 > spawn::kMaxMessage)
      return fail(Code::Invalid, concat("the command is longer than ", spawn::kMaxMessage, " bytes"));
    std::vector<int> fds = {connection, output.write.get(), errors.write.get(),
                            judged ? third.write.get() : third.read.get()};
    ask(Type::RunOnHost, request, fds);
    out = std::move(output.read);
    err = std::move(errors.read);
    (judged ? verdict : in) = std::move(judged ? third.read : third.write);
    return {};
  }

  Result<void> record(const Workspace& workspace) {
    sys::Pipe output = COVE_TRY(sys::pipe());
    sys::Pipe errors = COVE_TRY(sys::pipe());
    std::vector<int> fds = {output.write.get(), errors.write.get()};
    if (workspace.caller >= 0) fds.push_back(workspace.caller);
    ask(Type::RecordBase, Writer().text(id_).text(workspace.path).number(workspace.device).number(workspace.inode),
        fds);
    out = std::move(output.read);
    err = std::move(errors.read);
    return {};
  }

  int end_fd() const override { return outcome_->ended.get(); }
  Result<HostRunEnd> end() override {
    std::lock_guard lock(outcome_->mutex);
    return outcome_->end;
  }
  void kill() override { spawn_->tell(Type::KillOnHost, Writer().text(id_)); }

 private:
  void ask(Type type, const Writer& request, const std::vector<int>& fds) {
    spawn_->ask(
        type, request, [outcome = outcome_](Result<SpawnClient::Answer> answer) { outcome->take(std::move(answer)); },
        fds);
  }

  std::shared_ptr<SpawnClient> spawn_;
  std::shared_ptr<HostOutcome> outcome_;
  const std::string id_ = make_id();
};

Result<std::unique_ptr<SpawnedHostProcess>> make_process(std::shared_ptr<SpawnClient> spawn) {
  auto outcome = std::make_shared<HostOutcome>();
  outcome->ended.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!outcome->ended) return fail_errno("eventfd");
  return std::make_unique<SpawnedHostProcess>(std::move(spawn), std::move(outcome));
}

class SpawnedHostRunner : public HostRunner {
 public:
  explicit SpawnedHostRunner(std::shared_ptr<SpawnClient> spawn) : spawn_(std::move(spawn)) {}

  Result<std::unique_ptr<HostProcess>> start(const HostRunOrder& order, int connection) override {
    std::unique_ptr<SpawnedHostProcess> process = COVE_TRY(make_process(spawn_));
    COVE_TRY(process->start(order, connection));
    return process;
  }

 private:
  std::shared_ptr<SpawnClient> spawn_;
};

}  // namespace

Result<std::unique_ptr<HostProcess>> spawned_record(std::shared_ptr<SpawnClient> spawn, const Workspace& workspace) {
  std::unique_ptr<SpawnedHostProcess> process = COVE_TRY(make_process(std::move(spawn)));
  COVE_TRY(process->record(workspace));
  return process;
}

std::unique_ptr<HostRunner> make_spawned_host_runner(std::shared_ptr<SpawnClient> spawn) {
  return std::make_unique<SpawnedHostRunner>(std::move(spawn));
}

}  // namespace cove::spawn
