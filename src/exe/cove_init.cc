#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "init/door.h"
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

}  // namespace

// Process 1 of a sandbox. Started by cove-spawn: cove-init VERSION MODE, with the descriptors of protocol.h; or by a container
// engine on Cove's behalf: cove-init VERSION MODE DOOR.
int main(int argc, char** argv) {
  if (argc < 3 || argc > 4 || std::strcmp(argv[1], COVE_VERSION) != 0 || ::getpid() != 1) return 2;
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, "cove-init");
  // Programs inside begin with what is usual, whatever this one was started with.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  init::Mode mode = parse_mode(argv[2]);
  mode.contained = argc == 4;
  unsigned user = 0;
  const int door = mode.contained ? init::enter_by_door(argv[3], user) : -1;
  if (mode.contained && (door < 0 || init::add_user(user) < 0)) return 2;
  UniqueFd listener(mode.one_run ? -1 : wire::kListenFd);
  // While the walls rise.
  if (init::limit_bounding_set(init::root_capabilities()) < 0) return 2;
  if (!mode.single_id && init::put_up_filters(mode.filters) < 0) return 2;
  // An engine's walls stand before it starts anything.
  if (door < 0 && !wait_for_walls()) return 2;
  if (::chdir("/") < 0) return 2;
  // 0 to 2 are what it was started with; from here on they lead nowhere.
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  for (int fd = 0; fd < 3; ++fd)
    if (::open("/dev/null", O_RDWR) != fd) return 2;
  if (door >= 0) init::close_door(door);
  init::Supervisor(UniqueFd(wire::kControlFd), std::move(listener), mode).run();
}
