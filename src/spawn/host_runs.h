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

// Commands that cove-spawn runs on the host, for callers of this machine. Each has the rights of whoever is at the
// other end of the connection that came with the request (see Callers), and no others.
//
// With a fence the command is cove-host's to judge and to keep in; without one it runs only where the administrator
// allows that. So whoever has taken over coved gets nothing here that its caller could not have had, but for that one
// setting.
class HostRuns {
 public:
  struct Rules {
    bool allow_off = false;
    std::string programs;                  // the folder of cove-host
    std::vector<std::string> own_folders;  // Cove's, which no command may read
  };
  HostRuns() = default;
  explicit HostRuns(Rules rules) : rules_(std::move(rules)) {}

  // As this person. fds: output, errors, and the verdict or the input. Denied, Invalid, Exhausted.
  Result<void> start(uint64_t token, const std::string& id, const HostRunOrder& order, const Person& person,
                     std::vector<UniqueFd> fds);
  // cove-record on a folder, as this person. fds: output, errors.
  Result<void> record(uint64_t token, const std::string& id, const Person& person, int folder,
                      std::vector<UniqueFd> fds);
  void kill(const std::string& id);

  // Readable when one of them has ended.
  void poll_for(std::vector<pollfd>& polled) const;
  bool empty() const { return runs_.empty(); }
  // Of a child that was reaped: the token of the run, 0 where it was none, and how it ended.
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
