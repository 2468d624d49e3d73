#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "init/begin.h"
#include "init/door.h"
#include "init/fences.h"
#include "init/protocol.h"

namespace {

using namespace cove;

// In a kernel of its own there is nothing to wait for, and nobody to hand down.
int run_inner(init::Mode mode, const char* processes, const char* memory) {
  UniqueFd control(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, wire::kControlFd));
  mode.memory = std::strtoull(memory, nullptr, 10);
  mode.filters.kernel = init::Kernel::Own;
  init::InnerGroups groups;
  if (!control || groups.make(std::strtoull(processes, nullptr, 10)) < 0) return 6;
  if (init::limit_bounding_set(init::root_capabilities()) < 0 || init::no_new_privileges() < 0) return 2;
  if (::chdir("/") < 0 || !init::use_null_streams()) return 2;
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
  init::become_process_one();
  init::Mode mode = init::parse_mode(argv[2]);
  if (mode.inner) return argc == 5 ? run_inner(mode, argv[3], argv[4]) : 2;
  mode.contained = argc == 4;
  const int door = mode.contained ? come_in(argv[3]) : -1;
  if (mode.contained && door < 0) return 2;
  return init::serve_sandbox(mode, door);
}
