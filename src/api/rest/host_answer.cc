#include "api/rest/host_answer.h"

#include <poll.h>
#include <unistd.h>

#include "api/rest/host_run.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"
#include "model/json.h"

namespace cove::api {
namespace {

using Wake = http::Exchange::Wake;

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

// Whether it runs; where not, why not.
bool take_verdict(HostProcess& process, engine::Placement& placement) {
  constexpr std::string_view kYes = "yes ", kNo = "no ";
  std::string text = read_verdict(process.verdict.get());
  bool runs = text.starts_with(kYes);
  std::string_view why = text;
  why.remove_prefix(runs ? kYes.size() : text.starts_with(kNo) ? kNo.size() : text.size());
  placement.why = concat("mode selective: ", why.empty() ? "it could not be judged" : why);
  return runs;
}

HostRunOrder run_order(const HostWish& wish) {
  HostRunOrder order;
  order.fence = wish.placement.where == engine::Where::Host ? HostFence::None : HostFence::Reading;
  order.shell = wish.order.shell;
  if (order.shell.empty()) order.argv = wish.order.spec.argv;
  order.cwd = wish.order.spec.cwd;
  if (wish.workspace.access != Access::None) {
    order.workspace = wish.workspace.path;
    order.device = wish.workspace.device;
    order.inode = wish.workspace.inode;
  }
  if (order.fence == HostFence::None) order.env = wish.order.spec.env;
  return order;
}

// For the event stream: what ran outside of all walls must be found there.
void note(Call& call, const HostWish& wish, const ExecResult& result) {
  Json data = {{"argv", wish.order.spec.argv}, {"why", wish.placement.why}, {"status", status_name(result.status)}};
  if (!wish.order.session.empty()) data["session"] = wish.order.session;
  if (result.exit_code) data["exit_code"] = *result.exit_code;
  call.engine().note(call.caller, "host.exec", "", result.exec_id, data.dump());
}

Checked<std::string> result_json(Call& call, const HostWish& wish, HostRun& run) {
  ExecResult result = COVE_TRY(run.result());
  if (wish.placement.where == engine::Where::HostIfHarmless && result.exit_code == kNotRun)
    return refuse(500, "internal", concat("the command was not run: ", trim(result.err.data)));
  result.why = concat(wish.placement.why, "; ", result.why);
  note(call, wish, result);
  return to_json(result, JsonLayout::Line);
}

Outcome answer_at_end(Call& call, const HostWish& wish, HostRun& run) {
  while (!run.over()) {
    Wake wake = call.exchange.wait(run.fd(), kPatience);
    if (wake == Wake::Gone || wake == Wake::Stopping) run.kill(Cause::Killed);
    if (wake == Wake::Gone) return {};
    run.take({});
  }
  return call.respond(200, COVE_TRY(result_json(call, wish, run)));
}

Outcome answer_as_stream(Call& call, const HostWish& wish, HostRun& run) {
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  uint64_t seq = 0;
  bool gone = false;
  auto send = [&](engine::Stream from, const std::string& data) {
    Json chunk = {{"seq", ++seq}};
    add_data(chunk, data);
    gone = gone || !stream.send(sse_event(seq, stream_name(from), dump(chunk)));
  };
  while (!run.over()) {
    EventStream::Wake wake = stream.wait(run.fd());
    if (wake == EventStream::Wake::Gone || wake == EventStream::Wake::Stopping) gone = true;
    if (gone) return run.kill(Cause::Killed), Outcome();
    run.take(send);
  }
  Checked<std::string> result = result_json(call, wish, run);
  ++seq;
  Result<void> sent = result ? stream.send(sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", *result)))
                             : stream.send_problem(result.error());
  if (sent) (void)stream.end();
  return {};
}

}  // namespace

Checked<HostAnswer> answer_on_host(Call& call, HostWish& wish) {
  const bool judged = wish.placement.where == engine::Where::HostIfHarmless;
  if (!call.api.host) return refuse(503, "unavailable", "nothing can be run on the host");
  Result<std::unique_ptr<HostProcess>> process = call.api.host->start(run_order(wish), call.caller.connection);
  if (!process && !judged) return refuse(process.error());
  if (!process) {
    wish.placement.why = concat("mode selective: it could not be judged: ", process.error().message());
    return HostAnswer::NotHarmless;
  }
  if (judged && !take_verdict(**process, wish.placement)) return HostAnswer::NotHarmless;
  std::unique_ptr<HostRun> run =
      COVE_TRY(HostRun::create(std::move(*process), engine::limits_in_force(call.engine().config().limits, wish.order),
                               wish.order.input.value_or("")));
  if (wish.form == ExecForm::Stream)
    COVE_TRY(answer_as_stream(call, wish, *run));
  else
    COVE_TRY(answer_at_end(call, wish, *run));
  return HostAnswer::Given;
}

}  // namespace cove::api
