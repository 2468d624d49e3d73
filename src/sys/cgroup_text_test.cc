// What /proc and the files of control groups say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/cgroup_folder.h"
#include "sys/cgroup_mounts.h"
#include "sys/cgroup_v1_group.h"
#include "sys/cgroup_v2_group.h"

namespace cove::sys {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

TEST(CgroupMounts, FindsBothVersionsAndUnescapesPaths) {
  std::vector<CgroupMount> mounts = parse_cgroup_mounts(
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
      "41 31 0:38 /a\\040b /mnt/c\\134d rw - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].version, 1);
  EXPECT_EQ(mounts[0].controllers, "rw,cpu,cpuacct");
  EXPECT_EQ(mounts[0].root, "/");
  EXPECT_EQ(mounts[0].point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts[1].version, 2);
  EXPECT_EQ(mounts[1].root, "/a b");
  EXPECT_EQ(mounts[1].point, "/mnt/c\\d");
}

TEST(CgroupMounts, SplitsMemberships) {
  std::vector<CgroupMembership> memberships = parse_cgroup_memberships("4:cpu,cpuacct:/x:y\n0::/init.scope\n");
  ASSERT_EQ(memberships.size(), 2u);
  EXPECT_EQ(memberships[0].controllers, "cpu,cpuacct");
  EXPECT_EQ(memberships[0].path, "/x:y");
  EXPECT_EQ(memberships[1].controllers, "");
  EXPECT_EQ(memberships[1].path, "/init.scope");
}

TEST(CgroupMounts, FindsTheFolderOfAGroup) {
  CgroupMount whole{2, "", "/", "/sys/fs/cgroup"};
  EXPECT_EQ(folder_of(whole, "/"), "/sys/fs/cgroup");
  EXPECT_EQ(folder_of(whole, "/a/b"), "/sys/fs/cgroup/a/b");
  EXPECT_EQ(folder_of(whole, "/../outside"), std::nullopt);
  CgroupMount part{1, "rw,memory", "/docker/x", "/m"};
  EXPECT_EQ(folder_of(part, "/docker/x"), "/m");
  EXPECT_EQ(folder_of(part, "/docker/x/y"), "/m/y");
  EXPECT_EQ(folder_of(part, "/docker/xyz"), std::nullopt);
  EXPECT_EQ(folder_of(part, "/"), std::nullopt);
}

TEST(CgroupMounts, FindsWholeWordsOnly) {
  EXPECT_TRUE(has_builder_message("rw,cpu,cpuacct", "cpuacct", ','));
  EXPECT_FALSE(has_builder_message("rw,cpuset", "cpu", ','));
  EXPECT_TRUE(has_builder_message("cpu io memory\n", "memory", ' '));
  EXPECT_FALSE(has_builder_message("", "memory", ' '));
}

// --- What the kernel's files say ---

TEST(CgroupFolder, ReadsKeyedNumbers) {
  EXPECT_EQ(keyed_number("oom 7\noom_kill 3\n", "oom_kill"), 3u);
  EXPECT_EQ(keyed_number("oom_kill_disable 1\noom_kill 2", "oom_kill"), 2u);
  EXPECT_EQ(keyed_number("oom 7\n", "oom_kill"), 0u);
  EXPECT_EQ(keyed_number("", "max"), 0u);
}

TEST(CgroupFolder, RefusesNamesThatAreNoSingleFolder) {
  for (const char* bad : {"", ".", "..", "a/b", "../x", ".hidden", "a b", "a\n"}) {
    EXPECT_FALSE(check_group_name(bad).has_value()) << bad;
  }
  EXPECT_TRUE(check_group_name("cove-a1_b.2").has_value());
}

TEST(CgroupFolder, RefusesCpuQuotasThatTheKernelCannotKeep) {
  EXPECT_EQ(cpu_quota_us(1.5).value(), 150'000u);
  EXPECT_EQ(cpu_quota_us(0.01).value(), 1000u);
  for (double bad : {0.0, -1.0, 0.001, 1e300}) EXPECT_FALSE(cpu_quota_us(bad).has_value()) << bad;
}

TEST(CgroupV1, SplitsCpuTimeAsTheTicksFell) {
  CgroupUsage usage;
  split_cpu_time(9'000'000, 4'000'000, 8'000'000, usage);
  EXPECT_EQ(usage.cpu_user_us, 3000u);
  EXPECT_EQ(usage.cpu_system_us, 6000u);
  split_cpu_time(2'000'000, 0, 0, usage);
  EXPECT_EQ(usage.cpu_user_us + usage.cpu_system_us, 2000u);
}

TEST(CgroupV1, SumsTrafficOverDevices) {
  CgroupUsage usage;
  add_io_service_bytes("254:0 Read 10\n254:0 Write 1\n254:0 Sync 11\n8:0 Read 5\n8:0 Total 5\nTotal 16\n", usage);
  EXPECT_EQ(usage.io_read_bytes, 15u);
  EXPECT_EQ(usage.io_write_bytes, 1u);
}

TEST(CgroupV2, SumsTrafficOverDevices) {
  CgroupUsage usage;
  add_io_stat("254:0 rbytes=10 wbytes=1 rios=3 wios=4 dbytes=0 dios=0\n8:0 rbytes=5 wbytes=2\n", usage);
  EXPECT_EQ(usage.io_read_bytes, 15u);
  EXPECT_EQ(usage.io_write_bytes, 3u);
}

}  // namespace
}  // namespace cove::sys
