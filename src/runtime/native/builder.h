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

inline constexpr std::chrono::seconds kEndTimeout(10);  // for process 1 of a killed sandbox to end

// A sandbox under construction, or built: the process that builds its namespaces and mounts, and a socket to it.
//
// With Lifetime::OneRun the builder stays until the end: it ends the sandbox when `status` closes (so also when this
// process is killed) or when it is told to, calls `clean_up` if this process is gone, and exits. With Lifetime::Long
// it exits when the sandbox is built, and process 1 keeps running; but if it has to watch the sandbox's memory it
// stays, even if this process ends.
struct Builder {
  sys::Child process;  // none if it is of a pool
  UniqueFd status;
  bool stays = true;   // the builder stays until the sandbox's end
  UniqueFd process_1;  // Lifetime::Long: a pidfd, after the message Built
};

// Forks the builder. The second end of `control` becomes process 1's; only the caller holds the first, so that process
// 1 sees the caller's end. The sandbox is built asynchronously; failures arrive at `status` (see read_builder_message).
Result<Builder> start_builder(const SpawnPlan& plan, sys::SocketPair& control, const std::function<void()>& clean_up);

// What a builder builds. Later failures of process 1 arrive at `status`, too.
struct BuildOrder {
  const SpawnPlan& plan;
  int control;
  int status;
  cpu_set_t cpus;  // that process 1 may use
  Parentage parentage;
  int minimal_namespace =
      -1;  // a mount namespace that contains little more than /tmp and /proc, to start from instead of this one
};
// Called in the builder, which is in the sandbox's mount namespace afterwards. Returns process 1, started in the
// finished sandbox.
Result<sys::Child> build_sandbox(const BuildOrder& order);
inline constexpr std::string_view kBuilt =
    "built";  // the message for that, with a pidfd of process 1 if it outlives the builder
Result<void> detach_from_caller();
// This includes the server's sockets: while they are open in another process, the server's death is not noticed.
void close_all_but(int one, int other);

// A message from the builder.
enum class BuilderMessage {
  Built,        // the sandbox is built
  OutOfMemory,  // the watched limit was reached
  Ended,        // process 1 has ended, and every process with it; the mounts are being removed
  Gone,         // the builder itself is gone
};
// Waits for the next message, or for the error that prevented the build.
Result<BuilderMessage> read_builder_message(Builder& builder);
// Whether read_builder_message would return without blocking.
bool has_builder_message(const Builder& builder);
// Asks a staying builder to kill process 1, and with it the sandbox.
void kill_sandbox(const Builder& builder);
// Cancels the construction, and waits until the builder has ended.
void abandon(Builder& builder);
// Waits until every process of the sandbox has ended. Its mounts may still be removed afterwards: the kernel takes an
// RCU grace period for each overlay.
void wait_for_processes(Builder& builder);
// Waits until a staying builder is gone, and with it every process and mount of the sandbox.
Result<void> wait_for_end(const Builder& builder);

}  // namespace cove::native
