#include "engine/exec/ended_exec.h"

#include <sys/eventfd.h>

#include "base/text.h"
#include "engine/exec/exec_log.h"

namespace cove::engine {
namespace {

Result<UniqueFd> readable_fd() {
  UniqueFd fd(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return fail_errno("eventfd");
  return fd;
}

class EndedFollower : public Follower {
 public:
  EndedFollower(const std::string& path, UniqueFd fd) : log_(path), fd_(std::move(fd)) {}
  Result<void> open(uint64_t from) {
    COVE_TRY(log_.recover());
    at_ = COVE_TRY(log_.find(from));
    return {};
  }
  Result<std::vector<Chunk>> next(size_t most) override { return log_.read(at_, most); }
  bool at_end() const override { return at_.seq >= log_.next_seq(); }
  int fd() const override { return fd_.get(); }

 private:
  ExecLog log_;
  ExecLog::Position at_;
  UniqueFd fd_;  // always readable
};

class EndedExec : public Exec {
 public:
  EndedExec(ExecInfo info, std::string log_path) : info_(std::move(info)), log_path_(std::move(log_path)) {
    ExecLog log(log_path_);
    if (log.recover()) info_.next_seq = log.next_seq();
  }

  ExecInfo info() const override { return info_; }
  bool ended() const override { return true; }
  std::optional<Error> failure() const override {
    if (info_.result) return std::nullopt;
    return Error(Code::Internal, concat("Cove itself failed to run exec ", info_.id));
  }
  Result<std::unique_ptr<Follower>> follow(uint64_t from_seq) override {
    auto follower = std::make_unique<EndedFollower>(log_path_, COVE_TRY(readable_fd()));
    COVE_TRY(follower->open(from_seq));
    return follower;
  }
  Result<UniqueFd> end_fd() override { return readable_fd(); }
  Result<void> write_input(std::string_view, std::chrono::milliseconds) override { return over(); }
  Result<size_t> offer_input(std::string_view, std::chrono::milliseconds) override { return fail(over().error()); }
  Result<void> close_input() override { return {}; }
  Result<void> signal(int, bool) override { return over(); }
  Result<void> resize(WindowSize) override { return over(); }
  Result<void> kill() override { return {}; }

 private:
  std::unexpected<Error> over() const { return fail(Code::Conflict, concat("exec ", info_.id, " has ended")); }

  ExecInfo info_;
  std::string log_path_;
};

}  // namespace

std::shared_ptr<Exec> make_ended_exec(ExecInfo info, const std::string& log_path) {
  return std::make_shared<EndedExec>(std::move(info), log_path);
}

}  // namespace cove::engine
