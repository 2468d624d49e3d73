#include "init/begin.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "init/exec_child.h"
#include "init/fences.h"
#include "init/handoff.h"
#include "init/protocol.h"

namespace cove::init {
namespace {

// Waits until the sandbox is built; false if the build failed.
bool wait_for_go() {
  char byte;
  bool ok = ::read(wire::kGoFd, &byte, 1) == 1;
  ::close(wire::kGoFd);
  return ok;
}

}  // namespace

Mode parse_mode(const char* letters) {
  Mode mode;
  mode.one_run = std::strchr(letters, wire::kModeOneRun) != nullptr;
  mode.one_exec = std::strchr(letters, wire::kModeOneExec) != nullptr;
  mode.single_id = std::strchr(letters, wire::kModeSingleId) != nullptr;
  mode.landlock = std::strchr(letters, wire::kModeLandlock) != nullptr;
  mode.inner = std::strchr(letters, wire::kModeInner) != nullptr;
  mode.outer = std::strchr(letters, wire::kModeOuter) != nullptr;
  if (std::strchr(letters, wire::kModeNesting)) mode.filters.nesting = Nesting::Allowed;
  if (std::strchr(letters, wire::kModeNoSetId)) mode.filters.set_id = SetId::Forbidden;
  if (std::strchr(letters, wire::kModePinned)) mode.filters.cpus = CpusHeld::ByAffinity;
  if (std::strchr(letters, wire::kModeWatched)) mode.filters.memory = MemoryHeld::ByWatcher;
  return mode;
}

void become_process_one() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, "cove-init");
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
}

bool use_null_streams() {
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  for (int fd = 0; fd < 3; ++fd)
    if (::open("/dev/null", O_RDWR) != fd) return false;
  return true;
}

int serve_sandbox(const Mode& mode, int connection) {
  UniqueFd listener(mode.one_run ? -1 : wire::kListenFd);
  UniqueFd inner(mode.outer ? wire::kInnerFd : -1);
  // An OCI runtime passes one more descriptor: this program itself.
  if (!mode.outer && !mode.contained)
    ::syscall(SYS_close_range, mode.one_run ? wire::kListenFd : wire::kLockFd + 1, kLastFd, 0);
  // Done while the sandbox is being built.
  if (limit_bounding_set(root_capabilities()) < 0) return 2;
  if (!mode.single_id && apply_filters(mode.filters) < 0) return 2;
  // A container engine has built everything before it starts process 1.
  if (!mode.contained && !wait_for_go()) return 2;
  if (::chdir("/") < 0 || !use_null_streams()) return 2;
  if (mode.contained) report_ready(connection);
  Supervisor supervisor(UniqueFd(wire::kControlFd), std::move(listener), mode);
  if (mode.outer) supervisor.run_programs_at(std::move(inner));
  supervisor.run();
}

}  // namespace cove::init
