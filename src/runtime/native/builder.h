#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/process_one.h"
#include "runtime/native/spawn_plan.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::native {

inline constexpr std::chrono::seconds kEndPatience(10);  // for process 1 of a killed sandbox to be gone

// A sandbox under construction, or built: the process that made its walls, and a socket to it.
//
// With Lifetime::OneRun the builder stays until the end: it ends the sandbox when `status` closes (so also when this
// process is killed) or when it is told to, calls `clean_up` if this process is gone, and exits. With Lifetime::Long
// it exits when the walls stand, and process 1 goes on alone; but where it has to watch the sandbox's memory it stays,
// whatever becomes of this process.
struct Builder {
  sys::Child process;  // of a crew: none
  UniqueFd status;
  bool stays = true;   // until the sandbox's end
  UniqueFd process_1;  // Lifetime::Long: a pidfd, after the word Built
};

// Forks the builder. The second end of `control` becomes process 1's; the first is the caller's and stays his alone,
// so that process 1 sees his end. The walls rise while the caller goes on; failures
// arrive at `status` (see read_word).
Result<Builder> start_builder(const SpawnPlan& plan, sys::SocketPair& control, const std::function<void()>& clean_up);

// What a builder is to build. Failures of process 1 that come later arrive at `status`, too.
struct BuildOrder {
  const SpawnPlan& plan;
  int control;
  int status;
  cpu_set_t cpus;  // those that process 1 may use
  Parentage parentage;
  int minimal_namespace =
      -1;  // a mount namespace with little in it but /tmp and /proc, to begin with in place of this one
};
// In the builder itself, which is in the sandbox's mount namespace afterwards: process 1, let go in walls that stand.
Result<sys::Child> build_walls(const BuildOrder& order);
inline constexpr std::string_view kBuilt = "built";  // the word for that, with a pidfd of process 1 if it outlives us
Result<void> detach_from_caller();
// The server's own sockets among them: whoever holds those keeps its death from being noticed.
void close_all_but(int one, int other);

// The builder's word.
enum class BuilderWord {
  Built,        // the walls stand
  OutOfMemory,  // the watched limit was reached
  Ended,        // process 1 has ended, and every process with it; the mounts come down now
  Gone,         // the builder itself is gone
};
// Waits for the next word, or for why the walls do not stand.
Result<BuilderWord> read_word(Builder& builder);
// Whether reading it will not wait.
bool has_word(const Builder& builder);
// Asks a staying builder to kill process 1, and with it the sandbox.
void kill_sandbox(const Builder& builder);
// Ends what is being built, and waits until that is over.
void abandon(Builder& builder);
// Waits until every process of the sandbox has ended. The mounts may still come down behind it: the kernel takes an RCU
// period for each overlay.
void wait_for_processes(Builder& builder);
// Waits until a staying builder is gone, and with it every process and mount of the sandbox.
Result<void> wait_for_end(const Builder& builder);

}  // namespace cove::native
