#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host_runner.h"
#include "spawn/callers.h"
#include "sys/process.h"

namespace cove::spawn {

// Commands that cove-spawn runs on the host, for local callers. Each has only the rights of the user at the other end
// of the connection that came with the request (see Callers).
//
// With a fence, cove-host judges and restricts the command; without one it runs only if the administrator allows that.
// So a compromised coved gains nothing here that its callers do not have, except through that one setting.
class HostRuns {
 public:
  struct Rules {
    bool allow_off = false;
    std::string programs;                  // the folder of cove-host
    std::vector<std::string> own_folders;  // Cove's own, which no command may read
  };
  HostRuns() = default;
  explicit HostRuns(Rules rules) : rules_(std::move(rules)) {}

  // Runs a command as this user. fds: output, errors, and the verdict or the input. Denied, Invalid, Exhausted.
  Result<void> start(uint64_t token, const std::string& id, const HostRunOrder& order, const UserCredentials& user,
                     std::vector<UniqueFd> fds);
  // Runs cove-record on a folder, as this user. fds: output, errors.
  Result<void> record(uint64_t token, const std::string& id, const UserCredentials& user, int folder,
                      std::vector<UniqueFd> fds);
  void kill(const std::string& id);

  // Readable when a run has ended.
  void poll_for(std::vector<pollfd>& polled) const;
  bool empty() const { return runs_.empty(); }
  // For a child that was reaped: the token of the run, or 0 if it was none, and how it ended.
  struct Ended {
    uint64_t token = 0;
    HostRunEnd end;
  };
  Ended take(pid_t pid, int status, const struct rusage& usage);

 private:
  struct Run {
    std::string id;
    uint64_t token;
    sys::Child child;
  };
  Result<void> check_room(const std::string& id) const;

  Rules rules_;
  std::vector<Run> runs_;
};

}  // namespace cove::spawn
