#include "runtime/native/process_one.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error_wire.h"
#include "base/text.h"
#include "init/begin.h"
#include "init/protocol.h"
#include "sys/command_line.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/probe.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

Result<void> raise_loopback() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) < 0) return fail_errno("bring up the loopback interface");
  return {};
}

// Of process 1 that are there as soon as it is; it creates the others while its ids are mapped.
int early_namespaces(const SpawnPlan& plan) { return plan.oci && plan.oci->network ? CLONE_NEWNET : 0; }

Result<void> enter_namespaces(const SpawnPlan& plan) {
  COVE_TRY_NOTE("create network, ipc, uts and cgroup namespaces",
                sys::unshare(early_namespaces(plan) ^ (CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)));
  COVE_TRY(raise_loopback());
  if (::sethostname(plan.hostname.data(), plan.hostname.size()) < 0) return fail_errno("sethostname");
  return {};
}

// Becomes root of the new namespace; with only one id, its capabilities are kept over the exec instead.
Result<void> take_identity(const SpawnPlan& plan) {
  if (!plan.ids.single_id) {
    if (::setgroups(0, nullptr) < 0) return fail_errno("setgroups");
    if (::setresgid(0, 0, 0) < 0 || ::setresuid(0, 0, 0) < 0) return fail_errno("become root of the sandbox");
    return {};
  }
  sys::Capabilities sets = COVE_TRY(sys::capget());
  sets.inheritable = sets.permitted;
  COVE_TRY(sys::capset(sets));
  for (int capability = 0; capability < 64; ++capability)
    if (sets.permitted >> capability & 1) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  return {};
}

// Moves a descriptor to the number that process 1 expects, without close-on-exec.
Result<void> place(int fd, int number) {
  if (fd >= 0 && ::dup2(fd, number) < 0) return fail_errno("dup2");
  return {};
}

// Above all target numbers, so that none is overwritten.
constexpr int kHigh = 64;

// Keeps only the descriptors that protocol.h names. The others are closed at once or (CLOSE_RANGE_CLOEXEC) on exec.
Result<void> place_descriptors(const SpawnPlan& plan, Channels channels, int go, unsigned closing) {
  int high_control = ::fcntl(channels.control, F_DUPFD_CLOEXEC, kHigh);
  int high_inner = channels.inner < 0 ? -1 : ::fcntl(channels.inner, F_DUPFD_CLOEXEC, kHigh);
  int high_go = ::fcntl(go, F_DUPFD_CLOEXEC, kHigh);
  const bool stays = plan.listener >= 0;
  int high_listener = stays ? ::fcntl(plan.listener, F_DUPFD_CLOEXEC, kHigh) : -1;
  int high_lock = stays && plan.ids.lock ? ::fcntl(plan.ids.lock.get(), F_DUPFD_CLOEXEC, kHigh) : -1;
  COVE_TRY(place(high_control, wire::kControlFd));
  COVE_TRY(place(high_go, wire::kGoFd));
  COVE_TRY(place(high_listener, wire::kListenFd));
  COVE_TRY(place(high_lock, wire::kLockFd));
  unsigned first = high_lock >= 0 ? wire::kLockFd + 1 : stays ? wire::kListenFd + 1 : wire::kListenFd;
  if (::syscall(SYS_close_range, first, ~0u, closing) < 0) return fail_errno("close_range");
  return place(high_inner, wire::kInnerFd);
}

Result<void> exec_init(const SpawnPlan& plan, int program, Channels channels, int go) {
  int high_program = ::fcntl(program, F_DUPFD_CLOEXEC, kHigh);
  COVE_TRY(place_descriptors(plan, channels, go, CLOSE_RANGE_CLOEXEC));
  std::string mode = init_mode(plan);
  char name[] = "cove-init";
  char version[] = COVE_VERSION;
  char* argv[] = {name, version, mode.data(), nullptr};
  char* env[] = {nullptr};
  ::syscall(SYS_execveat, high_program, "", argv, env, AT_EMPTY_PATH);
  return fail_errno(concat("execute ", plan.init_program));
}

// Continues as process 1 without exec, in this process's memory. Programs inside cannot read it: it is not traceable,
// and the memory belongs to the host's user namespace. The builder's arguments and environment are still erased.
Result<void> continue_as_init(const SpawnPlan& plan, Channels channels, int go) {
  COVE_TRY(place_descriptors(plan, channels, go, 0));
  init::become_process_one();
  sys::replace_command_line("cove-init");
  ::_exit(init::serve_sandbox(init::parse_mode(init_mode(plan).c_str()), -1));
}

Result<void> child_main(const SpawnPlan& plan, int program, Channels channels, int go, int mapped) {
  COVE_TRY(enter_namespaces(plan));
  char byte;
  if (::read(mapped, &byte, 1) != 1) return fail(Code::Unavailable, "the user ids of the sandbox were not mapped");
  COVE_TRY(take_identity(plan));
  // After the change of identity, which clears the death signal.
  if (plan.lifetime == Lifetime::OneRun) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return program < 0 ? continue_as_init(plan, channels, go) : exec_init(plan, program, channels, go);
}

}  // namespace

// A program inside could execute /proc/self/exe of a process that has not executed yet, which is the builder's program.
// It must not get access to that file: Landlock forbids executing files from outside the sandbox, and for root the file
// is not writable by the sandbox.
bool can_continue_as_init(const SpawnPlan& plan) {
  return !plan.ids.rootless && !plan.oci && !plan.nesting && sys::landlock_abi() > 0;
}

std::string init_mode(const SpawnPlan& plan) {
  std::string mode;
  if (plan.lifetime == Lifetime::OneRun) mode += wire::kModeOneRun;
  if (plan.ends_with_exec) mode += wire::kModeOneExec;
  if (plan.ids.single_id) mode += wire::kModeSingleId;
  if (plan.workspace.access == Access::ReadWrite) mode += wire::kModeNoSetId;
  if (plan.pinned_cpus > 0) mode += wire::kModePinned;
  if (plan.watched_memory > 0) mode += wire::kModeWatched;
  // Landlock forbids all mounting, which nested sandboxes need.
  if (plan.oci && plan.oci->own_kernel) mode += wire::kModeOuter;
  mode += plan.nesting ? wire::kModeNesting : wire::kModeLandlock;
  return mode;
}

Result<UniqueFd> open_init(const std::string& path) {
  UniqueFd tree = COVE_TRY(sys::open_tree_clone(AT_FDCWD, path, sys::Subtree::One));
  COVE_TRY(sys::mount_setattr(tree.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, sys::Subtree::One));
  COVE_TRY(sys::attach_mount(tree.get(), AT_FDCWD, path));
  return tree;
}

Result<ProcessOne> start_process_one(const SpawnPlan& plan, const ProcessOneOptions& options) {
  UniqueFd program;
  if (!can_continue_as_init(plan)) program = COVE_TRY(open_init(plan.init_program));
  sys::Pipe go = COVE_TRY(sys::pipe());
  sys::Pipe mapped = COVE_TRY(sys::pipe());
  const uint64_t parent = options.parentage == Parentage::OfParent ? CLONE_PARENT : 0;
  sys::Child child = COVE_TRY(
      plan.ids.clone_with_user_namespace(CLONE_NEWPID | static_cast<uint64_t>(early_namespaces(plan)) | parent));
  if (child.pid == 0) {
    mapped.write.reset();
    go.write.reset();
    Result<void> outcome = child_main(plan, program.get(), options.channels, go.read.get(), mapped.read.get());
    static_cast<void>(sys::send_message(options.status, encode_error(outcome.error())));
    ::_exit(127);
  }
  sys::start_on_another_cpu(child.pid, options.cpus);  // it does not fork before its ids are mapped
  sys::Setgroups setgroups = plan.ids.single_id ? sys::Setgroups::Deny : sys::Setgroups::Keep;
  COVE_TRY(sys::write_id_maps(child.pid, plan.ids.users, plan.ids.groups, setgroups));
  // While it waits: once it has changed its identity, an ordinary user cannot open its /proc files until it has
  // executed.
  UniqueFd user_namespace = COVE_TRY(sys::open(concat("/proc/", child.pid, "/ns/user"), O_RDONLY));
  UniqueFd pid_namespace = COVE_TRY(sys::open(concat("/proc/", child.pid, "/ns/pid"), O_RDONLY));
  UniqueFd network;
  if (early_namespaces(plan) != 0) network = COVE_TRY(sys::open(concat("/proc/", child.pid, "/ns/net"), O_RDONLY));
  if (::write(mapped.write.get(), "m", 1) != 1) return fail_errno("notify process 1");
  return ProcessOne{std::move(child), std::move(user_namespace), std::move(pid_namespace), std::move(network),
                    std::move(go.write)};
}

}  // namespace cove::native
