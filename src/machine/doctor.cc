#include "machine/doctor.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

// The controllers for the limits that every sandbox has.
constexpr const char* kLimiting[] = {"cpu", "memory", "pids"};

Finding good(std::string name, std::string title, std::string value) {
  return {std::move(name), std::move(title), FindingStatus::Good, std::move(value), "", ""};
}

Finding kernel(const MachineFacts& facts) {
  Finding finding = good("kernel", "kernel", facts.kernel.release);
  if (facts.kernel.at_least(5, 12)) return finding;  // mount_setattr
  finding.standing = FindingStatus::Missing;
  finding.effect = "the native runtime requires Linux 5.12 or later";
  finding.remedy = "install a newer kernel";
  return finding;
}

std::string user_namespace_remedy(const MachineFacts& facts) {
  if (facts.max_user_namespaces == 0) return "sudo sysctl -w user.max_user_namespaces=15000";
  if (facts.user_namespaces_disabled) return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
  if (facts.apparmor_restricts) return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  return "allow user namespaces for this user (in a container: run it with --privileged, or on the host)";
}

Finding user_namespaces(const MachineFacts& facts) {
  Finding finding = good("user_namespaces", "user namespaces", "can be created");
  if (facts.user_namespaces.works) return finding;
  return {finding.name,
          finding.title,
          FindingStatus::Missing,
          facts.user_namespaces.problem,
          facts.apparmor_restricts ? "AppArmor restricts user namespaces, which every sandbox needs"
                                   : "every sandbox needs one",
          user_namespace_remedy(facts)};
}

Finding apparmor(const MachineFacts& facts) {
  Finding finding = good("apparmor", "AppArmor's restriction", "none");
  if (!facts.apparmor_restricts) return finding;
  finding.value = "unprivileged user namespaces are restricted";
  if (facts.user_namespaces.works) return finding;  // allowed by its own profile, or as root
  finding.standing = FindingStatus::Missing;
  finding.effect = "an ordinary user cannot start sandboxes";
  finding.remedy = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  return finding;
}

Finding overlay(const MachineFacts& facts) {
  const Attempt& needed = facts.root ? facts.overlay : facts.overlay_in_user_namespace;
  Finding finding = good("overlay", "overlayfs", "works");
  if (facts.root && !facts.overlay_in_user_namespace.works) finding.value = "works for root, not in user namespaces";
  if (needed.works) return finding;
  bool too_old = !facts.root && !facts.kernel.at_least(5, 11);
  return {finding.name,
          finding.title,
          FindingStatus::Missing,
          needed.problem,
          "the writable layer is an overlay",
          too_old ? "install Linux 5.11 or later" : "sudo modprobe overlay"};
}

Finding idmapped_mounts(const MachineFacts& facts) {
  Finding finding = good("idmapped_mounts", "idmapped mounts", "work, under overlays too");
  if (!facts.root) {
    finding.standing = FindingStatus::Absent;
    finding.value = "not used without root";
    return finding;
  }
  if (facts.idmapped_mounts.works && facts.kernel.at_least(5, 19)) return finding;
  finding.standing = FindingStatus::Weak;
  finding.value = facts.idmapped_mounts.works ? "work, but not under overlays" : facts.idmapped_mounts.problem;
  finding.effect = "all sandboxes share one range of user ids";
  finding.remedy = "install Linux 5.19 or later, with /usr on ext4, xfs or btrfs";
  return finding;
}

Finding landlock(const MachineFacts& facts) {
  Finding finding = good("landlock", "Landlock", concat("ABI ", facts.landlock_abi));
  if (facts.landlock_abi > 0) return finding;
  return {finding.name,
          finding.title,
          FindingStatus::Weak,
          "not available",
          "the second layer of defence for files is missing",
          "boot with landlock in the lsm= parameter, on Linux 5.13 or later"};
}

Finding seccomp(const MachineFacts& facts) {
  Finding finding = good("seccomp", "seccomp", join(facts.seccomp_actions, " "));
  if (std::ranges::count(facts.seccomp_actions, "errno") > 0) return finding;
  return {finding.name,
          finding.title,
          FindingStatus::Missing,
          "no filters",
          "system calls cannot be filtered",
          "use a kernel built with CONFIG_SECCOMP_FILTER"};
}

std::vector<std::string> missing_controllers(const CgroupFacts& cgroups) {
  std::vector<std::string> missing;
  for (const char* name : kLimiting)
    if (std::ranges::count(cgroups.controllers, name) == 0) missing.emplace_back(name);
  return missing;
}

std::string cgroup_remedy(const MachineFacts& facts) {
  if (!facts.cgroups.remedy.empty()) return facts.cgroups.remedy;
  if (facts.root) return "run Cove outside a container, or in one with writable control groups";
  return "sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu cpuset io memory "
         "pids\\n' | "
         "sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload   (then log in "
         "anew)";
}

std::string cgroup_value(const CgroupFacts& cgroups) {
  if (cgroups.version == 0) return "cannot be created";
  return concat("v", cgroups.version, " with ",
                cgroups.controllers.empty() ? "no controllers" : join(cgroups.controllers, " "),
                cgroups.through_systemd ? ", through the user's systemd" : "");
}

Finding cgroups(const MachineFacts& facts) {
  Finding finding = good("cgroups", "control groups", cgroup_value(facts.cgroups));
  std::vector<std::string> missing = missing_controllers(facts.cgroups);
  if (missing.empty()) return finding;
  finding.standing = FindingStatus::Weak;
  finding.effect = concat("limits with weaker enforcement: ", join(missing, ", "));
  if (!facts.cgroups.problem.empty()) finding.effect += concat(" (", facts.cgroups.problem, ")");
  finding.remedy = cgroup_remedy(facts);
  return finding;
}

std::string add_ids(const MachineFacts& facts) {
  if (facts.free_ids == 0)
    return concat("free 65536 ids for ", facts.user,
                  " in /etc/subuid and /etc/subgid: all are assigned to other users");
  std::string range = concat(facts.free_ids, "-", facts.free_ids + 65535);
  return concat("sudo usermod --add-subuids ", range, " --add-subgids ", range, " ", facts.user);
}

Finding user_ids(const MachineFacts& facts) {
  Finding finding = good("user_ids", "user ids", "a range for each sandbox");
  if (facts.root) return finding;
  bool helpers = !facts.newuidmap.empty() && !facts.newgidmap.empty();
  if (helpers && facts.subordinate_ids) {
    finding.value = "a subordinate range, through newuidmap";
    return finding;
  }
  finding.standing = FindingStatus::Weak;
  finding.value = helpers ? "no subordinate range" : "newuidmap is not installed";
  finding.effect = "sandboxes have only one user, with your rights to the files below /usr and /opt";
  std::string range = add_ids(facts);
  finding.remedy = helpers                 ? range
                   : facts.subordinate_ids ? "sudo apt install uidmap"
                                           : "sudo apt install uidmap && " + range;
  return finding;
}

Finding extra(Finding finding, bool there, std::string absent_value, std::string effect, std::string remedy) {
  if (there) return finding;
  return {std::move(finding.name), std::move(finding.title), FindingStatus::Absent,
          std::move(absent_value), std::move(effect),        std::move(remedy)};
}

Finding pool(const MachineFacts& facts) {
  bool there = facts.root && facts.btrfs_in_kernel && !facts.mkfs_btrfs.empty() && facts.loop_devices;
  std::string remedy = !facts.root                ? ""
                       : facts.mkfs_btrfs.empty() ? "sudo apt install btrfs-progs"
                       : !facts.btrfs_in_kernel   ? "sudo modprobe btrfs"
                                                  : "sudo modprobe loop";
  return extra(good("disk_quota", "disk quotas", "btrfs with quota groups"), there,
               facts.root ? "a btrfs pool cannot be created" : "not used without root",
               "writable layers are kept in memory", remedy);
}

Finding network(const MachineFacts& facts) {
  const NetworkFacts& found = facts.network;
  Finding finding = good("network", "networks", found.ipv6 ? "IPv4 and IPv6, by TPROXY" : "IPv4, by TPROXY");
  if (!found.works)
    return {finding.name,
            finding.title,
            FindingStatus::Absent,
            found.problem,
            "sandboxes cannot have a network",
            facts.user_namespaces.works ? "sudo modprobe -a nf_tables nft_tproxy nft_reject_inet" : ""};
  if (found.keeps_addresses) return finding;
  return {finding.name,
          finding.title,
          FindingStatus::Absent,
          found.ipv6 ? "IPv4 and IPv6, by redirect" : "IPv4, by redirect",
          "of UDP, sandboxes have only DNS",
          "sudo modprobe nft_tproxy"};
}

Finding kvm(const MachineFacts& facts) {
  return extra(good("kvm", "KVM", "usable"), facts.kvm_usable, facts.kvm_exists ? "not for this user" : "none",
               "no sandboxes in virtual machines", facts.kvm_exists ? concat("sudo usermod -aG kvm ", facts.user) : "");
}

Finding io_limits(const MachineFacts& facts) {
  bool there = std::ranges::count(facts.cgroups.controllers, "io") > 0;
  return extra(good("io_limits", "I/O limits", "available"), there, "not available",
               "--io-read and --io-write are refused", cgroup_remedy(facts));
}

RuntimeFact native_runtime(const Diagnosis& diagnosis) {
  RuntimeFact fact{
      .name = kNativeRuntime, .title = find_runtime_kind(kNativeRuntime)->title, .version = diagnosis.version};
  fact.available = diagnosis.level != IsolationLevel::None;
  if (fact.available) return fact;
  fact.problem = "a requirement of every sandbox is missing";
  fact.remedy = "`cove doctor` shows what is missing and how to fix it";
  return fact;
}

IsolationLevel level_of(const std::vector<Finding>& findings) {
  auto has_status = [](FindingStatus standing) {
    return [=](const Finding& finding) { return finding.standing == standing; };
  };
  if (std::ranges::any_of(findings, has_status(FindingStatus::Missing))) return IsolationLevel::None;
  return std::ranges::any_of(findings, has_status(FindingStatus::Weak)) ? IsolationLevel::Reduced
                                                                        : IsolationLevel::Full;
}

}  // namespace

Diagnosis diagnose(const MachineFacts& facts) {
  Diagnosis diagnosis;
  diagnosis.version = COVE_VERSION;
  diagnosis.mode = facts.root ? "root" : "rootless";
  for (auto finding : {kernel, user_namespaces, apparmor, overlay, idmapped_mounts, landlock, seccomp, cgroups,
                       user_ids, network, io_limits, pool, kvm})
    diagnosis.findings.push_back(finding(facts));
  diagnosis.level = level_of(diagnosis.findings);
  diagnosis.runtimes = facts.runtimes;
  diagnosis.runtimes.insert(diagnosis.runtimes.begin(), native_runtime(diagnosis));
  return diagnosis;
}

}  // namespace cove
