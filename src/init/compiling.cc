// Programs that are compiled first: one exec, whose first process is the compiler and whose second is the program, in
// the same control group and with the same streams. Only process 1 knows which of the two has ended, so that nothing
// that the program does can pass for the compiler's failure.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "init/supervisor.h"

namespace cove::init {

// Puts what was planned off, and plans the compiler. It has no input, and on a terminal it does not become the one who
// controls it: the terminal would go with it.
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

void Supervisor::go_on_or_end(Program& program, int status) {
  if (program.next->asked_to_end != 0) status = program.next->asked_to_end;
  if (status != 0) return end_when_moved(program, exit_of(program, status, Step::Compile).data());
  std::unique_ptr<NextStep> next = std::move(program.next);
  program.pid = start_child(next->plan, program.report);
  if (program.pid < 0) end_with(program, failure_of(program.id, wire::Stage::Fork, errno, Step::Run).data());
}

// A compiler that has just ended does not notice the signal; the program is not started for that.
void Supervisor::note_request_to_end(Program& program, int signal) {
  if (!program.next) return;
  for (int ending : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL})
    if (signal == ending) program.next->asked_to_end = signal;
}

}  // namespace cove::init
