#include "machine/machine_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/text.h"
#include "runtime/docker/docker_runtime.h"
#include "runtime/native/network.h"
#include "runtime/oci/programs.h"
#include "sys/cgroup.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr sys::Controller kLimiting[] = {sys::Controller::Cpu, sys::Controller::Memory, sys::Controller::Pids,
                                         sys::Controller::Io};
constexpr size_t kEssential = 3;  // of these: all except I/O
constexpr int64_t kIdsWanted = 65536;
constexpr int64_t kFirstId = 100'000;    // where useradd starts
constexpr int64_t kIdsEnd = 0x70000000;  // the start of the sandboxes' own ranges

Attempt attempt(const Result<void>& outcome) {
  if (outcome) return {true, ""};
  return {false, outcome.error().message()};
}

long number_in(const std::string& path, long otherwise) {
  auto text = sys::read_file(path, 64);
  if (!text) return otherwise;
  return static_cast<long>(parse_integer(trim(*text), INT64_MIN, INT64_MAX).value_or(otherwise));
}

std::string user_name(unsigned uid) {
  auto passwd = sys::read_file("/etc/passwd", 1 << 20);
  if (!passwd) return std::to_string(uid);
  for (const std::string& line : split(*passwd, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(uid)) return fields[0];
  }
  return std::to_string(uid);
}

// The controllers that the user's systemd delegates to its scopes; empty without a user systemd.
std::vector<std::string> systemd_controllers() {
  std::string uid = std::to_string(::getuid());
  if (!sys::exists(concat("/run/user/", uid, "/systemd/private"))) return {};
  auto text = sys::read_file(
      concat("/sys/fs/cgroup/user.slice/user-", uid, ".slice/user@", uid, ".service/cgroup.controllers"));
  return text ? split(trim(*text), ' ') : std::vector<std::string>{};
}

CgroupFacts examine_own_cgroups() {
  CgroupFacts facts;
  auto tree = sys::CgroupTree::find();
  if (!tree) {
    facts.problem = tree.error().message();
    facts.remedy = tree.error().hint();
    return facts;
  }
  facts.version = (*tree)->version();
  facts.problem = (*tree)->describe();
  for (sys::Controller controller : kLimiting)
    if ((*tree)->has(controller)) facts.controllers.push_back(sys::controller_name(controller));
  return facts;
}

CgroupFacts examine_cgroups() {
  CgroupFacts own = examine_own_cgroups();
  if (::geteuid() == 0) return own;
  CgroupFacts delegated;
  delegated.version = 2;
  delegated.through_systemd = true;
  std::vector<std::string> offered = systemd_controllers();
  for (sys::Controller controller : kLimiting)
    if (std::ranges::count(offered, sys::controller_name(controller)) > 0)
      delegated.controllers.push_back(sys::controller_name(controller));
  return delegated.controllers.size() > own.controllers.size() ? delegated : own;
}

void examine_kernel(MachineFacts& facts) {
  facts.kernel = sys::kernel_version();
  facts.user_namespaces = attempt(sys::probe_user_namespaces());
  facts.max_user_namespaces = number_in("/proc/sys/user/max_user_namespaces", -1);
  facts.user_namespaces_disabled = number_in("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0;
  facts.apparmor_restricts = number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1;
  facts.overlay_in_user_namespace = attempt(sys::probe_overlay_in_user_namespace());
  if (facts.root) {
    facts.overlay = attempt(sys::probe_overlay());
    facts.idmapped_mounts = attempt(sys::probe_idmapped_mount("/usr"));
  }
  facts.landlock_abi = sys::landlock_abi();
  facts.seccomp_actions = sys::seccomp_actions();
}

void examine_network(NetworkFacts& facts) {
  Result<NetworkSockets> sockets = native::probe_network();
  facts.works = sockets.has_value();
  if (!sockets) facts.problem = sockets.error().message();
  if (!sockets) return;
  facts.keeps_addresses = sockets->steering == Steering::Tproxy;
  facts.ipv6 = sockets->fds[NetworkSockets::kTcp6].get() >= 0;
}

void examine_ids(MachineFacts& facts) {
  facts.user = user_name(::getuid());
  facts.newuidmap = sys::find_program("newuidmap");
  facts.newgidmap = sys::find_program("newgidmap");
  std::vector<std::string> tables;
  for (const char* path : {"/etc/subuid", "/etc/subgid"}) tables.push_back(sys::read_file(path).value_or(""));
  facts.subordinate_ids = std::ranges::all_of(
      tables, [&](const std::string& table) { return has_subordinate_ids(table, facts.user, ::getuid()); });
  facts.free_ids = first_free_ids(tables);
}

void examine_extras(MachineFacts& facts) {
  facts.kvm_exists = sys::exists("/dev/kvm");
  facts.kvm_usable = sys::can_use_device("/dev/kvm");
  facts.btrfs_in_kernel = sys::has_file_system("btrfs");
  facts.loop_devices = sys::can_use_device("/dev/loop-control");
  facts.mkfs_btrfs = sys::find_program("mkfs.btrfs");
}

void examine_runtimes(MachineFacts& facts) {
  const bool limits = std::ranges::all_of(std::span(kLimiting).first(kEssential), [&](sys::Controller controller) {
    return std::ranges::count(facts.cgroups.controllers, sys::controller_name(controller)) > 0;
  });
  const bool ids = facts.subordinate_ids && !facts.newuidmap.empty() && !facts.newgidmap.empty();
  for (const RuntimeKind& kind : runtime_kinds()) {
    if (kind.family == RuntimeFamily::Oci)
      facts.runtimes.push_back(oci::examine(kind, {facts.root, limits, facts.root || ids}));
    if (kind.family == RuntimeFamily::Engine) facts.runtimes.push_back(docker::examine(kind.name));
  }
}

}  // namespace

MachineFacts examine_machine() {
  MachineFacts facts;
  facts.root = ::geteuid() == 0;
  examine_kernel(facts);
  facts.cgroups = examine_cgroups();
  examine_network(facts.network);
  examine_ids(facts);
  examine_extras(facts);
  examine_runtimes(facts);
  return facts;
}

bool has_subordinate_ids(const std::string& table, const std::string& user, unsigned uid) {
  for (const std::string& line : split(table, '\n')) {
    std::vector<std::string> fields = split(trim(line), ':');
    if (fields.size() != 3 || (fields[0] != user && fields[0] != std::to_string(uid))) continue;
    if (parse_integer(fields[2], kIdsWanted, INT64_MAX)) return true;
  }
  return false;
}

uint32_t first_free_ids(const std::vector<std::string>& tables) {
  std::vector<std::pair<int64_t, int64_t>> taken;  // first, and first after the range
  for (const std::string& table : tables) {
    for (const std::string& line : split(table, '\n')) {
      std::vector<std::string> fields = split(trim(line), ':');
      if (fields.size() != 3) continue;
      Result<int64_t> start = parse_integer(fields[1], 0, UINT32_MAX);
      Result<int64_t> count = parse_integer(fields[2], 1, UINT32_MAX);
      if (start && count) taken.emplace_back(*start, *start + *count);
    }
  }
  std::ranges::sort(taken);
  int64_t first = kFirstId;
  for (auto [from, end] : taken)
    if (from < first + kIdsWanted) first = std::max(first, end);
  return first + kIdsWanted <= kIdsEnd ? static_cast<uint32_t>(first) : 0;
}

}  // namespace cove
