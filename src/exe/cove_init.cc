#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "init/door.h"
#include "init/exec_child.h"
#include "init/fences.h"
#include "init/protocol.h"
#include "init/supervisor.h"

namespace {

using namespace cove;

init::Mode parse_mode(const char* letters) {
  init::Mode mode;
  mode.one_run = std::strchr(letters, wire::kModeOneRun) != nullptr;
  mode.one_exec = std::strchr(letters, wire::kModeOneExec) != nullptr;
  mode.single_id = std::strchr(letters, wire::kModeSingleId) != nullptr;
  mode.landlock = std::strchr(letters, wire::kModeLandlock) != nullptr;
  mode.inner = std::strchr(letters, wire::kModeInner) != nullptr;
  if (std::strchr(letters, wire::kModeNesting)) mode.filters.nesting = init::Nesting::Allowed;
  if (std::strchr(letters, wire::kModeNoSetId)) mode.filters.set_id = init::SetId::Forbidden;
  return mode;
}

// Waits until the walls stand; false where whoever builds them has given up.
bool wait_for_walls() {
  char byte;
  bool ok = ::read(wire::kGoFd, &byte, 1) == 1;
  ::close(wire::kGoFd);
  return ok;
}

// 0 to 2 are what it was started with; from here on they lead nowhere.
bool lead_nowhere() {
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  for (int fd = 0; fd < 3; ++fd)
    if (::open("/dev/null", O_RDWR) != fd) return false;
  return true;
}

// In a kernel of its own there is nothing to wait for, and nobody to hand down.
int run_inner(init::Mode mode, const char* processes, const char* memory) {
  UniqueFd control(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, wire::kControlFd));
  mode.memory = std::strtoull(memory, nullptr, 10);
  mode.filters.kernel = init::Kernel::Own;
  init::InnerGroups groups;
  if (!control || groups.make(std::strtoull(processes, nullptr, 10)) < 0) return 6;
  if (init::limit_bounding_set(init::root_capabilities()) < 0 || init::no_new_privileges() < 0) return 2;
  if (::chdir("/") < 0 || !lead_nowhere()) return 2;
  init::Supervisor supervisor(std::move(control), UniqueFd(), mode);
  supervisor.put_programs_into(std::move(groups));
  supervisor.run();
}

// In an engine's container it has nothing but what it is given at the door, which is returned.
int come_in(const char* path) {
  ::syscall(SYS_close_range, wire::kControlFd, ~0u, 0);
  unsigned user = 0;
  const int door = init::enter_by_door(path, user);
  return door >= 0 && init::add_user(user) == 0 ? door : -1;
}

}  // namespace

// Process 1 of a sandbox: cove-init VERSION MODE …, as protocol.h says, with the descriptors that it names.
int main(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], COVE_VERSION) != 0 || ::getpid() != 1) return 2;
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, "cove-init");
  // Programs inside begin with what is usual, whatever this one was started with.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  init::Mode mode = parse_mode(argv[2]);
  if (mode.inner) return argc == 5 ? run_inner(mode, argv[3], argv[4]) : 2;
  mode.contained = argc == 4;
  const int door = mode.contained ? come_in(argv[3]) : -1;
  if (mode.contained && door < 0) return 2;
  const bool outer = std::strchr(argv[2], wire::kModeOuter) != nullptr;
  UniqueFd listener(mode.one_run ? -1 : wire::kListenFd);
  UniqueFd inner(outer ? wire::kInnerFd : -1);
  // An OCI runtime passes one more: this program itself.
  if (!outer && !mode.contained) ::syscall(SYS_close_range, mode.one_run ? wire::kListenFd : wire::kLockFd + 1, init::kLastFd, 0);
  // While the walls rise.
  if (init::limit_bounding_set(init::root_capabilities()) < 0) return 2;
  if (!mode.single_id && init::put_up_filters(mode.filters) < 0) return 2;
  // An engine's walls stand before it starts anything.
  if (!mode.contained && !wait_for_walls()) return 2;
  if (::chdir("/") < 0 || !lead_nowhere()) return 2;
  if (mode.contained) init::close_door(door);
  init::Supervisor supervisor(UniqueFd(wire::kControlFd), std::move(listener), mode);
  if (outer) supervisor.run_programs_at(std::move(inner));
  supervisor.run();
}
