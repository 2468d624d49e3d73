#include "runtime/native/builder.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>
#include <utility>

#include "base/error_wire.h"
#include "base/text.h"
#include "runtime/native/group_view.h"
#include "runtime/native/memory_watch.h"
#include "runtime/native/process_one.h"
#include "runtime/native/root_mounts.h"
#include "runtime/native/user_share.h"
#include "runtime/oci/builder.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

constexpr std::string_view kMapMe = "map";
constexpr std::string_view kMapped = "mapped";
constexpr std::string_view kKill = "kill";
constexpr std::string_view kOutOfMemory = "oom";
constexpr std::string_view kEnded = "ended";

// Rootless: creates a user namespace in which the builder has the capabilities for mounting.
Result<void> become_namespace_root(const SpawnPlan& plan, int status) {
  if (!plan.ids.rootless) return {};
  const UserShare share = UserShare::measure();
  Result<void> unshared = sys::unshare(CLONE_NEWUSER);
  if (!unshared)
    return fail(
        std::move(unshared.error())
            .note("create a user namespace")
            .hint("unprivileged user namespaces are disabled on this machine; `cove doctor` shows how to enable them"));
  if (plan.ids.single_id) {
    COVE_TRY(sys::write_id_maps(::getpid(), plan.ids.outer_users, plan.ids.outer_groups, sys::Setgroups::Deny));
  } else {
    COVE_TRY(sys::send_message(status, kMapMe));
    sys::Message answer = COVE_TRY(sys::receive_message(status, 64));
    if (answer.data != kMapped) return fail(Code::Unavailable, "the user ids were not mapped");
  }
  // The caller's supplementary groups would give the sandbox rights over the host's files.
  if (!plan.ids.single_id && ::setgroups(0, nullptr) < 0) return fail_errno("setgroups");
  if (::setresgid(0, 0, 0) < 0 || ::setresuid(0, 0, 0) < 0) return fail_errno("become root of the namespace");
  COVE_TRY_NOTE("limit the caller's per-user kernel resources", share.apply());
  return {};
}

Result<void> limit_processes(uint64_t count) {
  if (count == 0) return {};
  // Counted per user namespace; exact, because the sandbox's namespace is nested in this one.
  struct rlimit limit = {count, count};
  if (::setrlimit(RLIMIT_NPROC, &limit) < 0) return fail_errno("set RLIMIT_NPROC");
  return {};
}

Result<void> pin_to_cpus(unsigned count, cpu_set_t& allowed) {
  if (count == 0) return {};
  allowed = sys::some_of(allowed, count, static_cast<unsigned>(::getpid()));
  if (::sched_setaffinity(0, sizeof allowed, &allowed) < 0) return fail_errno("sched_setaffinity");
  return {};
}

// Watches a sandbox until its end.
class Watch {
 public:
  Watch(const SpawnPlan& plan, const sys::Child& process_1, int status)
      : process_1_(process_1),
        status_(status),
        layer_(plan.layer.kind),
        memory_(plan.watched_memory),
        outlives_caller_(plan.lifetime == Lifetime::Long) {}

  // Runs until process 1 has ended; kills it when the caller is gone or asks for it, or at the watched memory limit.
  // True if the caller is gone.
  bool run() {
    while (!ended_) turn();
    static_cast<void>(sys::wait_for(process_1_.pid));
    if (outlives_caller_) return false;
    if (orphaned_) return true;
    if (!sys::send_message(status_, kEnded)) return true;
    // The caller may have died together with process 1: then the socket is closed.
    pollfd last = {status_, POLLIN, 0};
    return ::poll(&last, 1, 0) > 0 && (last.revents & POLLHUP) != 0;
  }

 private:
  void turn() {
    pollfd polled[] = {{process_1_.pidfd.get(), POLLIN, 0}, {orphaned_ ? -1 : status_, POLLIN, 0}};
    int ready = ::poll(polled, 2, memory_ > 0 ? pause_ : -1);
    if (ready > 0 && polled[1].revents) {
      Result<sys::Message> message = sys::receive_message(status_, 64, MSG_DONTWAIT);
      orphaned_ = !message || message->data.empty();
      if (!orphaned_ || !outlives_caller_) kill();
    }
    ended_ = ready > 0 && polled[0].revents;
    if (!ended_ && memory_ > 0 && exceeds_memory()) {
      static_cast<void>(sys::send_message(status_, kOutOfMemory));
      kill();
    }
  }

  // The watcher takes at most a twentieth of a CPU, unless a check takes so long that memory could run away meanwhile.
  bool exceeds_memory() {
    using std::chrono::steady_clock;
    const auto begin = steady_clock::now();
    const bool exceeds = memory_exceeds(memory_, layer_, process_1_.pidfd.get());
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begin);
    pause_ = std::clamp(static_cast<int>(20 * took.count()), kWatchMilliseconds, kLongestWatchMilliseconds);
    return exceeds;
  }

  void kill() { static_cast<void>(sys::kill_by_pidfd(process_1_.pidfd.get(), SIGKILL)); }

  const sys::Child& process_1_;
  int status_;
  LayerKind layer_;
  uint64_t memory_;
  bool outlives_caller_;
  int pause_ = kWatchMilliseconds;
  bool orphaned_ = false;
  bool ended_ = false;
};

[[noreturn]] void builder_main(const SpawnPlan& plan, UniqueFd control, int status, const cpu_set_t& cpus,
                               const std::function<void()>& clean_up) {
  Result<void> detached = detach_from_caller();
  const BuildOrder order{plan, control.get(), status, cpus, Parentage::OfBuilder};
  Result<sys::Child> process_1 = detached ? build_sandbox(order) : std::unexpected(detached.error());
  control.reset();
  bool orphaned = false;
  if (!process_1) {
    orphaned = !sys::send_message(status, encode_error(process_1.error()));
  } else {
    bool passed_on = plan.lifetime == Lifetime::Long;
    static_cast<void>(
        sys::send_message(status, kBuilt, passed_on ? std::vector{process_1->pidfd.get()} : std::vector<int>()));
    if (passed_on && plan.watched_memory == 0) ::_exit(0);
    if (passed_on) close_all_but(status, process_1->pidfd.get());
  }
  if (process_1) orphaned = Watch(plan, *process_1, status).run();
  if (orphaned) clean_up();
  ::_exit(0);
}

}  // namespace

// Detaches the builder from the terminal's signals and the caller's pipes.
Result<void> detach_from_caller() {
  ::prctl(PR_SET_NAME, "cove-spawn");
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  UniqueFd nowhere = COVE_TRY(sys::open("/dev/null", O_RDWR));
  for (int fd = 0; fd < 3; ++fd)
    if (::dup2(nowhere.get(), fd) < 0) return fail_errno("dup2");
  return {};
}

void close_all_but(int one, int other) {
  if (one > other) std::swap(one, other);
  auto close = [](int first, int last) {
    if (first <= last) ::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
  };
  close(STDERR_FILENO + 1, one - 1);
  close(one + 1, other - 1);
  close(other + 1, std::numeric_limits<int>::max());
}

Result<sys::Child> build_sandbox(const BuildOrder& order) {
  const SpawnPlan& plan = order.plan;
  ::umask(022);  // files created here belong to the sandbox, independent of the server's umask
  cpu_set_t cpus = order.cpus;
  COVE_TRY(become_namespace_root(plan, order.status));
  RootMounts mounts(plan);
  const bool nested = order.minimal_namespace >= 0 && can_continue_as_init(plan);
  if (nested) {
    COVE_TRY_NOTE("open the image", mounts.open_sources());
    COVE_TRY(sys::setns(order.minimal_namespace, CLONE_NEWNS));
  }
  COVE_TRY_NOTE("create a mount namespace", sys::unshare(CLONE_NEWNS));
  if (!nested) COVE_TRY(sys::make_mounts_private());
  COVE_TRY(pin_to_cpus(plan.pinned_cpus, cpus));
  if (plan.oci && !plan.oci->own_kernel) return oci::build(plan, order.control, order.status);
  COVE_TRY(limit_processes(plan.process_rlimit));
  sys::SocketPair inner;
  if (plan.oci) inner = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  ProcessOneOptions options{{order.control, inner.first.get()}, order.status, cpus, order.parentage};
  ProcessOne process_1 = COVE_TRY_NOTE("start process 1", start_process_one(plan, options));
  std::vector<UniqueFd> programs;
  if (plan.oci) programs = COVE_TRY(oci::open_programs(plan.init_program));
  if (!nested) COVE_TRY_NOTE("open the image", mounts.open_sources());
  COVE_TRY(mounts.stage(process_1.user_namespace.get()));
  COVE_TRY(mounts.assemble());
  if (plan.oci) {
    COVE_TRY(receive_group_views(order.status));
    COVE_TRY(oci::start_kernel(plan, programs, inner.second.get(), process_1.network.get()));
  }
  COVE_TRY(mounts.show_processes(process_1.pid_namespace.get()));
  // Last, because another process creates the control groups meanwhile.
  if (!plan.oci) COVE_TRY_NOTE("mount /sys", mounts.mount_sys(COVE_TRY(receive_group_views(order.status))));
  COVE_TRY(mounts.enter());
  if (::write(process_1.go.get(), "g", 1) != 1) return fail_errno("start process 1");
  return std::move(process_1.child);
}

Result<Builder> start_builder(const SpawnPlan& plan, sys::SocketPair& control, const std::function<void()>& clean_up) {
  sys::SocketPair status = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  const cpu_set_t cpus = sys::allowed_cpus();
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    status.first.reset();
    control.first.reset();
    builder_main(plan, std::move(control.second), status.second.get(), cpus, clean_up);
  }
  // Children of an OCI runtime keep the CPU affinity it was started with.
  if (!plan.oci && plan.pinned_cpus == 0) sys::start_on_another_cpu(child.pid, cpus);
  control.second.reset();
  bool stays = plan.lifetime == Lifetime::OneRun || plan.watched_memory > 0;
  Builder builder{std::move(child), std::move(status.first), stays, {}};
  if (!plan.ids.rootless || plan.ids.single_id) return builder;
  sys::Message word = COVE_TRY(sys::receive_message(builder.status.get(), wire::kMaxMessage));
  if (word.data != kMapMe) return fail(decode_error(word.data));
  COVE_TRY(sys::map_with_helpers(builder.process.pid, plan.ids));
  COVE_TRY(sys::send_message(builder.status.get(), kMapped));
  return builder;
}

Result<BuilderMessage> read_builder_message(Builder& builder) {
  Result<sys::Message> word = sys::receive_message(builder.status.get(), wire::kMaxMessage);
  // It ended without reading what it was sent: the kernel reports that once, before the builder's last message.
  if (!word && word.error().errnum() == ECONNRESET)
    word = sys::receive_message(builder.status.get(), wire::kMaxMessage);
  if (!word || word->data.empty()) return BuilderMessage::Gone;
  if (!word->fds.empty()) builder.process_1 = std::move(word->fds[0]);
  if (word->data == kBuilt) return BuilderMessage::Built;
  if (word->data == kOutOfMemory) return BuilderMessage::OutOfMemory;
  if (word->data == kEnded) return BuilderMessage::Ended;
  return fail(decode_error(word->data));
}

bool has_builder_message(const Builder& builder) {
  pollfd polled = {builder.status.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

void kill_sandbox(const Builder& builder) { static_cast<void>(sys::send_message(builder.status.get(), kKill)); }

void abandon(Builder& builder) {
  kill_sandbox(builder);  // otherwise it would wait for the control group
  // A builder that exits early does not watch the sandbox.
  while (builder.status && !builder.process_1) {
    Result<BuilderMessage> word = read_builder_message(builder);
    if (!word || *word == BuilderMessage::Ended || *word == BuilderMessage::Gone) break;
  }
  if (builder.process_1) {
    static_cast<void>(sys::kill_by_pidfd(builder.process_1.get(), SIGKILL));
    static_cast<void>(sys::ends_within(builder.process_1.get(), kEndTimeout));
  }
  static_cast<void>(wait_for_end(builder));
}

void wait_for_processes(Builder& builder) {
  while (true) {
    Result<BuilderMessage> word = read_builder_message(builder);
    if (!word || *word == BuilderMessage::Ended || *word == BuilderMessage::Gone) return;
  }
}

Result<void> wait_for_end(const Builder& builder) {
  if (builder.process.pid < 0) return {};  // it is building another sandbox
  Result<int> status = sys::wait_for(builder.process.pid);
  if (status || status.error().errnum() != ECHILD) return status ? Result<void>() : std::unexpected(status.error());
  // Not our child, but its end can be observed.
  pollfd polled = {builder.process.pidfd.get(), POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace cove::native
