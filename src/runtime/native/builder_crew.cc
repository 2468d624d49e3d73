#include "runtime/native/builder_crew.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/native/error_report.h"
#include "runtime/native/plan_codec.h"
#include "sys/file.h"

namespace cove::native {
namespace {

constexpr std::string_view kReady = "ready";
// So many stay when there is nothing to do; more are made where all are busy.
constexpr size_t kMostIdle = 2;

// The namespaces of the crew, to which it returns from a sandbox's.
struct Home {
  UniqueFd mounts;
  UniqueFd processes;

  static Result<Home> here() {
    return Home{COVE_TRY(sys::open("/proc/self/ns/mnt", O_RDONLY)), COVE_TRY(sys::open("/proc/self/ns/pid", O_RDONLY))};
  }
  // Root and working folder come along.
  Result<void> enter() const {
    COVE_TRY(sys::setns(mounts.get(), CLONE_NEWNS));
    return sys::setns(processes.get(), CLONE_NEWPID);
  }
};

// False where this builder should not go on.
bool build_one(std::string_view data, std::vector<UniqueFd> fds) {
  Result<PlanMessage> order = decode_plan(data, std::move(fds));
  if (!order) return false;
  Result<sys::Child> process_1 =
      build_walls({order->plan, order->control.get(), order->status.get(), sys::allowed_cpus(), Parentage::OfParent});
  const std::string word = process_1 ? std::string(kBuilt) : encode_error(process_1.error());
  const std::vector<int> pidfd = process_1 ? std::vector{process_1->pidfd.get()} : std::vector<int>();
  return sys::send_message(order->status.get(), word, pidfd) && process_1;
}

[[noreturn]] void serve_orders(int orders) {
  close_all_but(orders, orders);
  Result<void> detached = detach_from_caller();
  Result<Home> home = Home::here();
  while (detached && home) {
    Result<sys::Message> order = sys::receive_message(orders, kMaxPlan);
    if (!order || order->data.empty() || !build_one(order->data, std::move(order->fds))) break;
    if (!home->enter() || !sys::send_message(orders, kReady)) break;
  }
  ::_exit(0);
}

}  // namespace

bool BuilderCrew::takes(const SpawnPlan& plan) {
  size_t paths = 0;
  for (const ImageMount& mount : plan.image.mounts)
    for (const std::string& lower : mount.lowers) paths += lower.size();
  return paths < kMaxPlan / 2 && plan.lifetime == Lifetime::Long && !plan.ids.rootless && !plan.oci &&
         plan.watched_memory == 0 && plan.process_rlimit == 0 && plan.pinned_cpus == 0;
}

// Who has finished says so; who has ended is forgotten, and so are those too many.
void BuilderCrew::tend() {
  size_t idle = 0;
  std::erase_if(members_, [&](Member& member) {
    if (!member.idle) {
      Result<sys::Message> word = sys::receive_message(member.orders.get(), kReady.size(), MSG_DONTWAIT);
      if (!word && word.error().errnum() == EAGAIN) return false;
      member.idle = word && word->data == kReady;
      if (!member.idle) return true;
    }
    return ++idle > kMostIdle;
  });
}

Result<BuilderCrew::Member*> BuilderCrew::find_idle() {
  tend();
  auto idle = std::ranges::find_if(members_, [](const Member& member) { return member.idle; });
  if (idle != members_.end()) return &*idle;
  sys::SocketPair orders = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) serve_orders(orders.second.get());
  members_.push_back({std::move(child), std::move(orders.first)});
  return &members_.back();
}

Result<Builder> BuilderCrew::build(const SpawnPlan& plan, sys::SocketPair& control) {
  sys::SocketPair status = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  EncodedPlan order = encode_plan(plan, control.second.get(), status.second.get());
  while (true) {
    Member* member = COVE_TRY(find_idle());
    member->idle = false;
    Result<void> sent = sys::send_message(member->orders.get(), order.data, order.fds);
    if (sent) break;
    // It was killed while it waited: the next one, or a new one.
    member->idle = true;
    if (sent.error().errnum() != EPIPE) return std::unexpected(sent.error());
    std::erase_if(members_, [&](const Member& each) { return &each == member; });
  }
  control.second.reset();
  return Builder{{}, std::move(status.first), false, {}};
}

}  // namespace cove::native
