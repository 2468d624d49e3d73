// Execs with a compile step: the first process of the exec is the compiler and the second is the program, in the same
// control group and with the same streams. Only process 1 knows which of the two has ended, so that the program cannot
// fake a failure of the compiler.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "init/supervisor.h"

namespace cove::init {

// Postpones the program and plans the compiler. The compiler has no input and does not become the terminal's session
// leader, because the terminal would hang up when it ends.
void Supervisor::compile_first(ChildPlan& plan, Program& program, std::vector<UniqueFd>& fds, size_t stdio,
                               UniqueFd& slave) {
  auto next = std::make_unique<NextStep>();
  next->plan = plan;
  for (size_t i = 0; i < stdio; ++i) next->fds.push_back(std::move(fds[i]));
  next->slave = std::move(slave);
  plan.request.argv = plan.request.compile;
  plan.stdio[0] = 0;  // process 1's own: /dev/null
  if (plan.terminal >= 0) plan.stdio[1] = plan.stdio[2] = std::exchange(plan.terminal, -1);
  program.next = std::move(next);
}

void Supervisor::continue_or_end(Program& program, int status) {
  if (program.next->asked_to_end != 0) status = program.next->asked_to_end;
  if (status != 0) return end_when_moved(program, exit_of(program, status, Step::Compile).data());
  std::unique_ptr<NextStep> next = std::move(program.next);
  program.pid = start_child(next->plan, program.report);
  if (program.pid < 0) end_with(program, failure_of(program.id, wire::Stage::Fork, errno, Step::Run).data());
}

// The compiler may have just ended and miss the signal, so the program is not started either.
void Supervisor::note_request_to_end(Program& program, int signal) {
  if (!program.next) return;
  for (int ending : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL})
    if (signal == ending) program.next->asked_to_end = signal;
}

}  // namespace cove::init
