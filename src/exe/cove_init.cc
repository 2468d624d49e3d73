#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "init/begin.h"
#include "init/fences.h"
#include "init/handoff.h"
#include "init/protocol.h"

namespace {

using namespace cove;

// In gVisor's kernel there is nothing to wait for and no descriptors to receive.
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

// In an engine's container: receives the descriptors over the returned connection.
int join_container(const char* path) {
  ::syscall(SYS_close_range, wire::kControlFd, ~0u, 0);
  unsigned user = 0;
  const int connection = init::receive_descriptors(path, user);
  return connection >= 0 && init::add_user(user) == 0 ? connection : -1;
}

}  // namespace

// Process 1 of a sandbox: cove-init VERSION MODE …, as protocol.h says, with the descriptors that it names.
int main(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], COVE_VERSION) != 0 || ::getpid() != 1) return 2;
  init::become_process_one();
  init::Mode mode = init::parse_mode(argv[2]);
  if (mode.inner) return argc == 5 ? run_inner(mode, argv[3], argv[4]) : 2;
  mode.contained = argc == 4;
  const int connection = mode.contained ? join_container(argv[3]) : -1;
  if (mode.contained && connection < 0) return 2;
  return init::serve_sandbox(mode, connection);
}
