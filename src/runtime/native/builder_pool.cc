#include "runtime/native/builder_pool.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error_wire.h"
#include "runtime/native/plan_codec.h"
#include "runtime/native/root_mounts.h"
#include "sys/file.h"
#include "sys/mount.h"

namespace cove::native {
namespace {

constexpr std::string_view kReady = "ready";
// The number of idle builders to keep; more are created if all are busy, because each sometimes waits for the kernel.
size_t most_idle() {
  static const size_t kMost = std::clamp<size_t>(static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)) + 2, 2, 8);
  return kMost;
}

constexpr const char* kOwnMounts = "/proc/self/ns/mnt";

// The builder's own namespaces, to which it returns after building a sandbox.
struct Home {
  UniqueFd mounts;
  UniqueFd processes;

  static Result<Home> here() {
    return Home{COVE_TRY(sys::open(kOwnMounts, O_RDONLY)), COVE_TRY(sys::open("/proc/self/ns/pid", O_RDONLY))};
  }
  // This also restores the root and working folder.
  Result<void> enter() const {
    COVE_TRY(sys::setns(mounts.get(), CLONE_NEWNS));
    return sys::setns(processes.get(), CLONE_NEWPID);
  }
};

// A sandbox's mount namespace starts as a copy of another, whose mounts all have to be removed again. Copying this
// minimal namespace is cheaper than copying the machine's.
Result<UniqueFd> make_minimal_namespace() {
  constexpr uint64_t kClosed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  COVE_TRY(sys::unshare(CLONE_NEWNS));
  COVE_TRY(sys::make_mounts_private());
  UniqueFd processes = COVE_TRY(sys::open_tree_clone(AT_FDCWD, "/proc", sys::Subtree::One));
  UniqueFd root = COVE_TRY(sys::make_mount("tmpfs", {{"size", "4k"}, {"nr_inodes", "8"}, {"mode", "0755"}}, 0));
  COVE_TRY(sys::attach_mount(root.get(), AT_FDCWD, kStage));
  for (const char* folder : {"proc", "tmp"}) COVE_TRY(sys::mkdirat(root.get(), folder, 0755));
  COVE_TRY(sys::attach_mount(processes.get(), root.get(), "proc"));
  COVE_TRY(sys::mount_setattr(root.get(), kClosed, sys::Subtree::One));
  COVE_TRY(sys::pivot_root(root.get()));
  return sys::open(kOwnMounts, O_RDONLY);
}

// False if this builder must end.
bool build_one(std::string_view data, std::vector<UniqueFd> fds, int minimal_namespace) {
  Result<PlanMessage> order = decode_plan(data, std::move(fds));
  if (!order) return false;
  Result<sys::Child> process_1 = build_sandbox({order->plan, order->control.get(), order->status.get(),
                                                sys::allowed_cpus(), Parentage::OfParent, minimal_namespace});
  const std::string word = process_1 ? std::string(kBuilt) : encode_error(process_1.error());
  const std::vector<int> pidfd = process_1 ? std::vector{process_1->pidfd.get()} : std::vector<int>();
  return sys::send_message(order->status.get(), word, pidfd) && process_1;
}

[[noreturn]] void serve_orders(int orders) {
  close_all_but(orders, orders);
  Result<void> detached = detach_from_caller();
  Result<Home> home = Home::here();
  UniqueFd minimal_namespace = make_minimal_namespace().value_or(UniqueFd());
  bool ready = detached && home && home->enter();
  while (ready) {
    Result<sys::Message> order = sys::receive_message(orders, kMaxPlan);
    if (!order || order->data.empty() || !build_one(order->data, std::move(order->fds), minimal_namespace.get())) break;
    if (!home->enter() || !sys::send_message(orders, kReady)) break;
  }
  ::_exit(0);
}

}  // namespace

bool BuilderPool::takes(const SpawnPlan& plan) {
  size_t paths = 0;
  for (const ImageMount& mount : plan.image.mounts)
    for (const std::string& lower : mount.lowers) paths += lower.size();
  return paths < kMaxPlan / 2 && plan.lifetime == Lifetime::Long && !plan.ids.rootless && !plan.oci &&
         plan.watched_memory == 0 && plan.process_rlimit == 0 && plan.pinned_cpus == 0;
}

// Builders report when they are idle. Those that have ended are forgotten, and surplus ones are ended.
void BuilderPool::maintain() {
  size_t idle = 0;
  std::erase_if(members_, [&](Member& member) {
    if (!member.idle) {
      Result<sys::Message> word = sys::receive_message(member.orders.get(), kReady.size(), MSG_DONTWAIT);
      if (!word && word.error().errnum() == EAGAIN) return false;
      member.idle = word && word->data == kReady;
      if (!member.idle) return true;
    }
    return ++idle > most_idle();
  });
}

Result<BuilderPool::Member*> BuilderPool::find_idle() {
  maintain();
  auto idle = std::ranges::find_if(members_, [](const Member& member) { return member.idle; });
  if (idle != members_.end()) return &*idle;
  sys::SocketPair orders = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) serve_orders(orders.second.get());
  members_.push_back({std::move(child), std::move(orders.first)});
  return &members_.back();
}

Result<Builder> BuilderPool::build(const SpawnPlan& plan, sys::SocketPair& control) {
  sys::SocketPair status = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  EncodedPlan order = encode_plan(plan, control.second.get(), status.second.get());
  while (true) {
    Member* member = COVE_TRY(find_idle());
    member->idle = false;
    Result<void> sent = sys::send_message(member->orders.get(), order.data, order.fds);
    if (sent) break;
    // It was killed while it was idle: use the next one, or a new one.
    member->idle = true;
    if (sent.error().errnum() != EPIPE) return std::unexpected(sent.error());
    std::erase_if(members_, [&](const Member& each) { return &each == member; });
  }
  control.second.reset();
  return Builder{{}, std::move(status.first), false, {}};
}

}  // namespace cove::native
