#include "runtime/oci/builder.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "init/protocol.h"
#include "runtime/native/process_one.h"
#include "runtime/native/root_mounts.h"
#include "runtime/oci/bundle.h"
#include "runtime/oci/groups.h"
#include "runtime/oci/invocation.h"
#include "sys/file.h"
#include "sys/mount.h"

namespace cove::oci {
namespace {

constexpr int kPassed = kProgramFd - wire::kControlFd + 1;

Words command_line(const native::SpawnPlan& plan) {
  const std::string folder = kBundle;
  Words words = {plan.oci->program, "--root", folder + "/state"};
  if (plan.oci->runtime == "crun") words.insert(words.end(), {"--cgroup-manager", "cgroupfs"});
  words.insert(words.end(), {"run", "--detach", "--bundle", folder, "--pid-file", folder + "/pid", "--preserve-fds",
                             std::to_string(kPassed), plan.id});
  return words;
}

Result<sys::Child> process_1() {
  std::string text = COVE_TRY(sys::read_file(concat(std::string_view(kBundle), "/pid"), 64));
  auto pid = static_cast<pid_t>(COVE_TRY(parse_integer(trim(text), 2, INT32_MAX)));
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return fail_errno(concat("open process ", pid));
  return sys::Child{pid, std::move(pidfd)};
}

// Enters the sandbox, because the memory watcher examines its processes and files from inside.
Result<void> look_from_inside(pid_t pid) {
  UniqueFd mounts = COVE_TRY(sys::open(concat("/proc/", pid, "/ns/mnt"), O_RDONLY));
  return sys::setns(mounts.get(), CLONE_NEWNS);
}

}  // namespace

Result<sys::Child> build(const native::SpawnPlan& plan, int control, int status) {
  // The runtime exits when process 1 runs, which then becomes a child of this process.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  UniqueFd program = COVE_TRY(native::open_init(plan.init_program));
  UniqueFd map;
  if (!plan.ids.rootless) map = COVE_TRY(sys::make_user_namespace(plan.ids));
  native::RootMounts mounts(plan);
  COVE_TRY_NOTE("open the image", mounts.open_sources());
  COVE_TRY(mounts.stage(map.get()));
  COVE_TRY(mounts.assemble());
  std::vector<native::GroupView> groups = COVE_TRY(native::receive_group_views(status));
  // On v1 a runtime uses every hierarchy that it finds in the list of mounts.
  std::erase_if(groups, [](const native::GroupView& group) { return !group.name.empty(); });
  COVE_TRY_NOTE("mount /sys", mounts.mount_sys(groups));
  COVE_TRY_NOTE("write the bundle",
                write_bundle(bundle_config(plan, map ? concat("/proc/", ::getpid(), "/fd/", map.get()) : "")));
  if (!plan.ids.rootless) COVE_TRY(show_one_hierarchy());
  // The sandbox is complete before process 1 is executed.
  sys::Pipe go = COVE_TRY(sys::pipe());
  if (::write(go.write.get(), "g", 1) != 1) return fail_errno("start process 1");
  UniqueFd nothing = COVE_TRY(sys::open("/dev/null", O_RDWR));
  int listener = plan.listener >= 0 ? plan.listener : nothing.get();
  int lock = plan.listener >= 0 && plan.ids.lock ? plan.ids.lock.get() : nothing.get();
  Invocation call{plan.oci->runtime, command_line(plan)};
  call.passed = {control, go.read.get(), listener, lock, program.get()};
  COVE_TRY(invoke(call));
  sys::Child first = COVE_TRY(process_1());
  if (plan.watched_memory > 0) COVE_TRY_NOTE("watch the sandbox's memory", look_from_inside(first.pid));
  return first;
}

}  // namespace cove::oci
