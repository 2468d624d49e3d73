#include "engine/service/host_execution.h"

#include <poll.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/service/host_run.h"

namespace cove::engine {
namespace {

using What = HostOutcome::What;
using Wake = CallerPresence::Wake;

constexpr int kJudgePatience = 10'000;  // milliseconds
constexpr size_t kLongestVerdict = 4096;
constexpr int kNotRun = 125;  // cove-host's exit code where nothing was run
constexpr std::chrono::minutes kPatience{1};

// What cove-host says of the command; empty where it says nothing.
std::string read_verdict(int fd) {
  std::string text;
  pollfd polled = {.fd = fd, .events = POLLIN, .revents = 0};
  while (text.size() < kLongestVerdict && ::poll(&polled, 1, kJudgePatience) > 0) {
    char buffer[1024];
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

struct Verdict {
  bool runs = false;
  std::string why;
};

Verdict take_verdict(HostProcess& process) {
  constexpr std::string_view kYes = "yes ", kNo = "no ";
  const std::string text = read_verdict(process.verdict.get());
  const bool runs = text.starts_with(kYes);
  std::string_view why = text;
  why.remove_prefix(runs ? kYes.size() : text.starts_with(kNo) ? kNo.size() : text.size());
  return {runs, concat("mode selective: ", why.empty() ? "it could not be judged" : why)};
}

HostRunOrder run_order(const HostOrder& order) {
  HostRunOrder run;
  run.fence = order.placement.where == Where::Host ? HostFence::None : HostFence::Reading;
  run.shell = order.order.shell;
  if (run.shell.empty()) run.argv = order.order.spec.argv;
  run.cwd = order.order.spec.cwd;
  if (order.workspace.access != Access::None) {
    run.workspace = order.workspace.path;
    run.device = order.workspace.device;
    run.inode = order.workspace.inode;
  }
  if (run.fence == HostFence::None) run.env = order.order.spec.env;
  return run;
}

// Follows it to its end, or to that of its caller: false then. Who only wants the result gets it while the server
// stops, too.
bool follow(HostRun& run, CallerPresence& presence, RunSink* sink, uint64_t& seq) {
  bool left = sink && !sink->begin({.exec_id = run.id()});
  auto pass = [&](Stream stream, const std::string& data) {
    ++seq;
    left = left || !sink->output({{seq, stream, data}});
  };
  while (!run.over()) {
    const Wake wake = left ? Wake::Gone : presence.wait(run.fd(), kPatience);
    if (wake == Wake::Gone || wake == Wake::Stopping) run.kill(Cause::Killed);
    if (wake == Wake::Gone || (wake == Wake::Stopping && sink)) return false;
    if (wake == Wake::Stopping) {
      pollfd polled = {.fd = run.fd(), .events = POLLIN, .revents = 0};
      ::poll(&polled, 1, -1);
    }
    run.take(sink ? HostRun::Sink(pass) : HostRun::Sink());
  }
  return !left;
}

}  // namespace

Result<HostOutcome> run_on_host(HostRunner& runner, const Caller& caller, const HostOrder& order, const Limits& limits,
                                CallerPresence& presence, RunSink* sink) {
  const bool judged = order.placement.where == Where::HostIfHarmless;
  Result<std::unique_ptr<HostProcess>> process = runner.start(run_order(order), caller.connection);
  if (!process && !judged) return std::unexpected(std::move(process).error());
  if (!process)
    return HostOutcome{.what = What::NotHarmless,
                       .why = concat("mode selective: it could not be judged: ", process.error().message())};
  std::string why = order.placement.why;
  if (judged) {
    Verdict verdict = take_verdict(**process);
    if (!verdict.runs) return HostOutcome{.what = What::NotHarmless, .why = std::move(verdict.why)};
    why = std::move(verdict.why);
  }
  std::unique_ptr<HostRun> run = COVE_TRY(
      HostRun::create(std::move(*process), limits_in_force(limits, order.order), order.order.input.value_or("")));
  HostOutcome outcome;
  if (!follow(*run, presence, sink, outcome.ran.seq)) return outcome;
  ExecResult result = COVE_TRY(run->result());
  if (judged && result.exit_code == kNotRun)
    return fail(Code::Internal, concat("the command was not run: ", trim(result.err.data)));
  result.why = concat(why, "; ", result.why);
  return HostOutcome{What::Ran, {std::move(result), outcome.ran.seq + 1}, std::move(why)};
}

void note_host_run(Engine& engine, const Caller& caller, const HostOrder& order, const HostOutcome& outcome) {
  const ExecResult& result = outcome.ran.result;
  Json data = {{"argv", order.order.spec.argv}, {"why", outcome.why}, {"status", status_name(result.status)}};
  if (!order.order.session.empty()) data["session"] = order.order.session;
  if (result.exit_code) data["exit_code"] = *result.exit_code;
  engine.note(caller, "host.exec", "", result.exec_id, data.dump());
}

}  // namespace cove::engine
