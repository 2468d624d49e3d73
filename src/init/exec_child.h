#pragma once

#include <sys/types.h>

#include <vector>

#include "base/unique_fd.h"
#include "init/fences.h"
#include "init/passwd.h"
#include "init/protocol.h"

namespace cove::init {

// For close_range(2): gVisor takes no larger number.
inline constexpr unsigned kLastFd = 0x7fffffff;

// What a new program of the sandbox is started with.
struct ChildPlan {
  wire::ExecRequest request;
  User user;
  std::vector<int> join_fds;     // control groups to move into first
  bool joins_by_number = false;  // a process writes its own number there, not 0
  int stdio[3] = {-1, -1, -1};
  int terminal = -1;     // the slave end, instead of stdio
  bool own_tty = false;  // in a kernel whose /dev/tty is of no use: the terminal is put in its place
  int keys = -1;         // there: signals that keys of the terminal mean, one byte each
  int command = -1;      // where argv and env come from, later
  Filters filters;
  bool single_id = false;
};

// How a start failed; travels over a pipe that closes when the program is running.
struct StartFailure {
  wire::Stage stage;
  int errnum;
};

// Forks, and in the child goes through the steps (groups, terminal, limits, identity, folder, fences) to execve.
// `report` becomes readable with a StartFailure, or closes on success. Returns the pid, or -1 with errno.
pid_t start_child(const ChildPlan& plan, UniqueFd& report);

// Takes on the identity and the fences of a user's program in this process; 0, or the stage that failed with errno.
struct FenceOutcome {
  bool ok;
  wire::Stage stage;
};
FenceOutcome become(const User& user, const Filters& filters, bool single_id);

// The environment of a program: as requested, HOME, USER and LOGNAME filled in where missing.
std::vector<std::string> complete_environment(const wire::ExecRequest& request, const User& user);

}  // namespace cove::init
