#include "machine/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sys/file.h"

namespace cove {
namespace {

using ::testing::HasSubstr;

// A machine on which all is well.
MachineFacts sound_machine() {
  MachineFacts facts;
  facts.root = true;
  facts.kernel = sys::parse_kernel_version("6.1.0-30-amd64");
  facts.user_namespaces = facts.overlay = facts.overlay_in_user_namespace = facts.idmapped_mounts = {true, ""};
  facts.landlock_abi = 2;
  facts.seccomp_actions = {"kill_process", "errno", "allow"};
  facts.cgroups = {.version = 2, .controllers = {"cpu", "memory", "pids", "io"}};
  facts.network = {.works = true, .keeps_addresses = true, .ipv6 = true};
  facts.kvm_exists = facts.kvm_usable = true;
  facts.btrfs_in_kernel = facts.loop_devices = true;
  facts.mkfs_btrfs = "/usr/sbin/mkfs.btrfs";
  facts.newuidmap = "/usr/bin/newuidmap";
  facts.newgidmap = "/usr/bin/newgidmap";
  facts.subordinate_ids = true;
  facts.user = "ada";
  facts.runtimes = {{.name = "runc", .available = true, .version = "1.1.5", .program = "/usr/bin/runc"}};
  return facts;
}

MachineFacts sound_rootless_machine() {
  MachineFacts facts = sound_machine();
  facts.root = false;
  facts.overlay = facts.idmapped_mounts = {};
  return facts;
}

Finding finding(const Diagnosis& diagnosis, const std::string& name) {
  auto found = std::ranges::find(diagnosis.findings, name, &Finding::name);
  EXPECT_NE(found, diagnosis.findings.end()) << name;
  return found == diagnosis.findings.end() ? Finding{} : *found;
}

TEST(Doctor, FindsNothingWrongWithASoundMachine) {
  for (const MachineFacts& facts : {sound_machine(), sound_rootless_machine()}) {
    Diagnosis diagnosis = diagnose(facts);
    EXPECT_EQ(diagnosis.level, IsolationLevel::Full) << diagnosis.mode;
    for (const Finding& each : diagnosis.findings)
      EXPECT_TRUE(each.standing == FindingStatus::Good || each.standing == FindingStatus::Absent) << each.name;
  }
}

TEST(Doctor, HasARemedyForWhateverIsNotGood) {
  MachineFacts bare;
  bare.user = "ada";
  bare.root = true;
  for (bool root : {true, false}) {
    bare.root = root;
    for (const Finding& each : diagnose(bare).findings) {
      if (each.standing != FindingStatus::Weak && each.standing != FindingStatus::Missing) continue;
      EXPECT_NE(each.effect, "") << each.name;
      EXPECT_NE(each.remedy, "") << each.name;
    }
  }
}

TEST(Doctor, StartsNothingWithoutUserNamespaces) {
  MachineFacts facts = sound_rootless_machine();
  facts.user_namespaces = {false, "clone3: Operation not permitted"};
  facts.max_user_namespaces = 0;
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.level, IsolationLevel::None);
  EXPECT_THAT(finding(diagnosis, "user_namespaces").value, HasSubstr("not permitted"));
  EXPECT_THAT(finding(diagnosis, "user_namespaces").remedy, HasSubstr("user.max_user_namespaces"));
}

TEST(Doctor, NamesAppArmorWhereItIsTheCause) {
  MachineFacts facts = sound_rootless_machine();
  facts.apparmor_restricts = true;
  facts.user_namespaces = {false, "create tmpfs: Permission denied"};
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.level, IsolationLevel::None);
  EXPECT_THAT(finding(diagnosis, "user_namespaces").remedy, HasSubstr("apparmor_restrict_unprivileged_userns=0"));
  facts.user_namespaces = {true, ""};
  EXPECT_EQ(diagnose(facts).level, IsolationLevel::Full);
}

TEST(Doctor, NamesDebiansSwitchWhereItIsTheCause) {
  MachineFacts facts = sound_rootless_machine();
  facts.user_namespaces = {false, "x"};
  facts.user_namespaces_disabled = true;
  EXPECT_THAT(finding(diagnose(facts), "user_namespaces").remedy, HasSubstr("unprivileged_userns_clone=1"));
}

TEST(Doctor, LooksAtTheOverlayThatIsUsed) {
  MachineFacts facts = sound_machine();
  facts.overlay_in_user_namespace = {false, "x"};
  EXPECT_EQ(diagnose(facts).level, IsolationLevel::Full);
  facts.root = false;
  EXPECT_EQ(diagnose(facts).level, IsolationLevel::None);
}

TEST(Doctor, TellsThatOldKernelsShareUserIds) {
  MachineFacts facts = sound_machine();
  facts.kernel = sys::parse_kernel_version("5.15.0-100-generic");
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.level, IsolationLevel::Reduced);
  EXPECT_THAT(finding(diagnosis, "idmapped_mounts").effect, HasSubstr("share one range"));
  facts.kernel = sys::parse_kernel_version("5.4.0");
  EXPECT_EQ(diagnose(facts).level, IsolationLevel::None);
}

TEST(Doctor, ReducesTheLevelWithoutDelegatedControlGroups) {
  MachineFacts facts = sound_rootless_machine();
  facts.cgroups = {.problem = "no cgroups can be made", .remedy = "log in through systemd"};
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.level, IsolationLevel::Reduced);
  EXPECT_THAT(finding(diagnosis, "cgroups").effect, HasSubstr("cpu, memory, pids"));
  EXPECT_EQ(finding(diagnosis, "cgroups").remedy, "log in through systemd");
}

TEST(Doctor, NamesTheControllersThatAreMissing) {
  MachineFacts facts = sound_rootless_machine();
  facts.cgroups.controllers = {"memory", "pids"};
  Finding found = finding(diagnose(facts), "cgroups");
  EXPECT_EQ(found.standing, FindingStatus::Weak);
  EXPECT_THAT(found.effect, HasSubstr("enforcement: cpu"));
  EXPECT_THAT(found.remedy, HasSubstr("Delegate=cpu"));
  EXPECT_EQ(finding(diagnose(facts), "io_limits").standing, FindingStatus::Absent);
}

TEST(Doctor, WantsSubordinateIdsWithoutRoot) {
  MachineFacts facts = sound_rootless_machine();
  facts.subordinate_ids = false;
  facts.free_ids = 165'536;
  EXPECT_EQ(finding(diagnose(facts), "user_ids").remedy,
            "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ada");
  facts.newuidmap = "";
  EXPECT_THAT(finding(diagnose(facts), "user_ids").remedy, HasSubstr("apt install uidmap &&"));
  facts.root = true;
  EXPECT_EQ(finding(diagnose(facts), "user_ids").standing, FindingStatus::Good);
}

TEST(Doctor, TakesExtrasAsExtras) {
  MachineFacts facts = sound_machine();
  facts.kvm_usable = false;
  facts.mkfs_btrfs = "";
  facts.runtimes.clear();
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.level, IsolationLevel::Full);
  EXPECT_THAT(finding(diagnosis, "kvm").remedy, HasSubstr("usermod -aG kvm ada"));
  EXPECT_THAT(finding(diagnosis, "disk_quota").remedy, HasSubstr("btrfs-progs"));
}

TEST(Doctor, SaysWhatNetworksSandboxesCanHave) {
  MachineFacts facts = sound_machine();
  EXPECT_EQ(finding(diagnose(facts), "network").value, "IPv4 and IPv6, by TPROXY");
  facts.network.ipv6 = false;
  EXPECT_EQ(finding(diagnose(facts), "network").value, "IPv4, by TPROXY");
  facts.network.keeps_addresses = false;
  Finding redirected = finding(diagnose(facts), "network");
  EXPECT_EQ(redirected.value, "IPv4, by redirect");
  EXPECT_THAT(redirected.remedy, HasSubstr("modprobe nft_tproxy"));
  facts.network = {.problem = "load the nftables ruleset: Protocol not supported"};
  Diagnosis without = diagnose(facts);
  EXPECT_EQ(without.level, IsolationLevel::Full) << "sandboxes need no network";
  EXPECT_THAT(finding(without, "network").value, HasSubstr("Protocol not supported"));
  EXPECT_THAT(finding(without, "network").remedy, HasSubstr("modprobe -a nf_tables"));
}

TEST(KernelVersion, IsComparedByNumbers) {
  sys::KernelVersion version = sys::parse_kernel_version("5.10.0-20-amd64");
  EXPECT_TRUE(version.at_least(5, 9));
  EXPECT_TRUE(version.at_least(4, 20));
  EXPECT_FALSE(version.at_least(5, 11));
  EXPECT_FALSE(version.at_least(6, 0));
  EXPECT_FALSE(sys::parse_kernel_version("strange").at_least(0, 1));
}

TEST(SubordinateIds, AreFoundByNameAndNumber) {
  EXPECT_TRUE(has_subordinate_ids("eve:1:65536\nada:100000:65536\n", "ada", 1000));
  EXPECT_TRUE(has_subordinate_ids("1000:100000:65536", "ada", 1000));
  EXPECT_FALSE(has_subordinate_ids("ada:100000:1000\n", "ada", 1000));
  EXPECT_FALSE(has_subordinate_ids("adam:100000:65536\n", "ada", 1000));
  EXPECT_FALSE(has_subordinate_ids("", "ada", 1000));
}

TEST(SubordinateIds, AreRecommendedWhereNobodyHasThem) {
  EXPECT_EQ(first_free_ids({"", ""}), 100'000u);
  EXPECT_EQ(first_free_ids({"ada:100000:65536\n", "ada:100000:65536\n"}), 165'536u);
  // A group's range counts as a user's, and a range may begin in the middle of the next.
  EXPECT_EQ(first_free_ids({"ada:100000:65536\n", "eve:231000:65536\nada:100000:65536\n"}), 296'536u);
  EXPECT_EQ(first_free_ids({"eve:1000:10\nada:400000:65536\nnonsense\nbob:90000:20000\n", ""}), 110'000u);
  EXPECT_EQ(first_free_ids({"ada:100000:4000000000\n", ""}), 0u);
}

// Whatever this machine can do, looking at it changes nothing.
TEST(MachineFacts, LeaveNoMountBehind) {
  auto mounts = [] { return sys::read_file("/proc/self/mountinfo").value_or(""); };
  std::string before = mounts();
  MachineFacts facts = examine_machine();
  EXPECT_EQ(mounts(), before);
  EXPECT_GT(facts.kernel.major, 0);
}

}  // namespace
}  // namespace cove
