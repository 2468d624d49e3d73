#include "conformance/conformance.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "run/environment.h"
#include "sys/file.h"

namespace cove::test {
namespace {

using Clock = std::chrono::steady_clock;

void read_some(UniqueFd& fd, std::string& data) {
  char buffer[65536];
  ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
  if (count > 0)
    data.append(buffer, static_cast<size_t>(count));
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    fd.reset();
}

}  // namespace

int Ran::exit_code() const {
  if (failed) return failed->exit_code;
  if (!ended) return -1;
  int status = ended->wait_status;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Conformance::SetUp() {
  Result<std::unique_ptr<Runtime>> made = GetParam().make();
  ASSERT_TRUE(made) << made.error().message();
  runtime_ = std::move(*made);
}

void Conformance::TearDown() {
  for (auto& sandbox : sandboxes_) {
    Result<void> gone = sandbox->destroy(Files::Remove);
    EXPECT_TRUE(gone) << gone.error().message();
  }
}

SandboxSpec Conformance::spec() const {
  SandboxSpec spec;
  spec.id = make_id();
  spec.image = GetParam().image;
  spec.env = safe_environment();
  spec.runtime = GetParam().asked_for;
  return spec;
}

Sandbox& Conformance::sandbox(const SandboxSpec& spec) {
  Result<std::unique_ptr<Sandbox>> made = runtime_->create(spec);
  if (!made) throw std::runtime_error(made.error().message());
  sandboxes_.push_back(std::move(*made));
  Result<void> ready = sandboxes_.back()->ready();
  if (!ready) throw std::runtime_error(ready.error().message());
  return *sandboxes_.back();
}

ExecSpec Conformance::command(std::vector<std::string> argv) {
  ExecSpec exec;
  exec.id = make_id();
  exec.argv = std::move(argv);
  return exec;
}

Ran Conformance::run(Sandbox& sandbox, const ExecSpec& exec, const std::string& input) {
  Result<Attachment> streams = sandbox.exec(exec);
  if (!streams) {
    ADD_FAILURE() << streams.error().message();
    return {};
  }
  return finish(sandbox, exec.id, std::move(*streams), input);
}

Ran Conformance::finish(Sandbox& sandbox, const std::string& exec_id, Attachment streams, const std::string& input) {
  Ran ran;
  UniqueFd out = std::move(streams.terminal ? streams.terminal : streams.out);
  if (!input.empty() && streams.in) static_cast<void>(sys::write_all(streams.in.get(), input));
  if (streams.in) static_cast<void>(sandbox.close_input(exec_id));
  streams.in.reset();
  for (UniqueFd* fd : {&out, &streams.err})
    if (*fd) static_cast<void>(sys::set_nonblocking(fd->get()));
  Clock::time_point deadline = Clock::now() + std::chrono::minutes(1);
  while (!ran.ended && !ran.failed && !ran.gone && Clock::now() < deadline) {
    pollfd polled[] = {{sandbox.events_fd(), POLLIN, 0}, {out.get(), POLLIN, 0}, {streams.err.get(), POLLIN, 0}};
    ::poll(polled, 3, 1000);
    if (polled[1].revents) read_some(out, ran.out);
    if (polled[2].revents) read_some(streams.err, ran.err);
    Result<std::optional<Event>> event = sandbox.next_event();
    if (!event || !*event) continue;
    if (auto* end = std::get_if<ExecEnded>(&**event); end && end->exec_id == exec_id) ran.ended = *end;
    if (auto* failure = std::get_if<ExecFailed>(&**event); failure && failure->exec_id == exec_id)
      ran.failed = *failure;
    if (auto* gone = std::get_if<SandboxEnded>(&**event)) ran.gone = *gone;
  }
  for (size_t before = SIZE_MAX; out && ran.out.size() != before;) before = ran.out.size(), read_some(out, ran.out);
  for (size_t before = SIZE_MAX; streams.err && ran.err.size() != before;)
    before = ran.err.size(), read_some(streams.err, ran.err);
  return ran;
}

}  // namespace cove::test
