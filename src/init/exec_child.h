#pragma once

#include <sys/types.h>

#include <vector>

#include "base/unique_fd.h"
#include "init/fences.h"
#include "init/passwd.h"
#include "init/protocol.h"

namespace cove::init {

// For close_range(2): the largest number that gVisor accepts.
inline constexpr unsigned kLastFd = 0x7fffffff;

// How a new program of the sandbox is started.
struct ChildPlan {
  wire::ExecRequest request;
  User user;
  std::vector<int> join_fds;     // control groups to move into first
  bool joins_by_number = false;  // a process writes its own number there, not 0
  int stdio[3] = {-1, -1, -1};
  int terminal = -1;          // the slave end, instead of stdio
  bool own_tty = false;       // in a kernel with an unusable /dev/tty: it is replaced by the terminal
  int keys = -1;              // likewise: receives signals for keys of the terminal, one byte each
  int network = -1;           // a network namespace to enter
  bool bare_network = false;  // it gets a new one instead: in gVisor, which cannot enter one
  int command = -1;           // source of argv and env, read later
  Filters filters;
  bool single_id = false;
};

// Why a start failed; sent over a pipe that closes when the program is running.
struct StartFailure {
  wire::Stage stage;
  int errnum;
};

// Forks, and performs the steps in the child (groups, terminal, limits, identity, folder, restrictions) up to execve.
// `report` becomes readable with a StartFailure, or closes on success. Returns the pid, or -1 with errno.
pid_t start_child(const ChildPlan& plan, UniqueFd& report);

// Assumes the identity and the restrictions of a user's program in this process; 0, or the failed stage, with errno.
struct FenceOutcome {
  bool ok;
  wire::Stage stage;
};
FenceOutcome become(const User& user, const Filters& filters, bool single_id);

// The environment of a program: as requested, HOME, USER and LOGNAME filled in where missing.
std::vector<std::string> complete_environment(const wire::ExecRequest& request, const User& user);

}  // namespace cove::init
