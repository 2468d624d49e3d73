#include "sys/cgroup.h"

#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <thread>

#include "sys/cgroup_testing.h"

namespace cove::sys {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CgroupTest, FindsAllControllersAsRoot) {
  if (::geteuid() != 0) SKIP_OR_FAIL("only root has all controllers for sure");
  for (Controller controller : kAll) EXPECT_TRUE(tree_->has(controller)) << controller_name(controller);
  EXPECT_EQ(tree_->describe(), "");
}

TEST_F(CgroupTest, KillsAtTheMemoryLimit) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(32 * kMiB, 0));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(96 * kMiB); })), kKilled);
  CgroupUsage usage = group->usage().value();
  EXPECT_EQ(usage.oom_kills, 1u);
  EXPECT_GE(usage.memory_peak_bytes, 24 * kMiB);
  EXPECT_LE(usage.memory_peak_bytes, 33 * kMiB);
}

TEST_F(CgroupTest, LeavesAProgramUnderTheMemoryLimitAlone) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(32 * kMiB, 0));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(16 * kMiB); })), 0);
  EXPECT_EQ(group->usage().value().oom_kills, 0u);
}

TEST_F(CgroupTest, RaisesAndLowersTheMemoryLimit) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(8 * kMiB, 0));
  ASSERT_OK(group->set_memory(64 * kMiB, 0));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(32 * kMiB); })), 0);
  ASSERT_OK(group->set_memory(16 * kMiB, 0));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(32 * kMiB); })), kKilled);
}

TEST_F(CgroupTest, LimitsSwapBesideTheMemory) {
  NEED(Memory);
  auto group = make();
  if (!group->counts_swap()) {
    EXPECT_EQ(group->set_memory(32 * kMiB, 8 * kMiB).error().code(), Code::Unsupported);
    return;
  }
  for (auto [memory, swap] : {std::pair(32, 8), std::pair(64, 0), std::pair(16, 128), std::pair(96, 16)}) {
    ASSERT_OK(group->set_memory(memory * kMiB, swap * kMiB));
    EXPECT_EQ(outcome(run_in(*group, [&] { return touch_memory((memory - 8) * kMiB); })), 0);
    EXPECT_EQ(outcome(run_in(*group, [&] { return touch_memory((memory + swap + 64) * kMiB); })), kKilled);
  }
}

TEST_F(CgroupTest, CountsAKillAtTheOuterLimitInBothGroups) {
  NEED(Memory);
  auto outer = make();
  ASSERT_OK(outer->set_memory(32 * kMiB, 0));
  auto inner = outer->create_child("inner").value();
  EXPECT_EQ(outcome(run_in(*inner, [] { return touch_memory(96 * kMiB); })), kKilled);
  EXPECT_EQ(inner->usage().value().oom_kills, 1u);
  EXPECT_EQ(outer->usage().value().oom_kills, 1u);
}

TEST_F(CgroupTest, RefusesForksAtTheProcessLimit) {
  NEED(Pids);
  auto group = make();
  ASSERT_OK(group->set_pids(5));
  run_in(*group, [this] {
    shared_->counter = static_cast<uint64_t>(fork_until_refused(20)) + 1;
    wait_forever();
    return 0;
  });
  ASSERT_TRUE(counter_moves() || shared_->counter != 0);
  EXPECT_EQ(shared_->counter, 5u);
  CgroupUsage usage = group->usage().value();
  EXPECT_EQ(usage.pids, 5u);
  EXPECT_EQ(usage.pids_peak, 5u);
  EXPECT_EQ(usage.pids_refused, 1u);
}

TEST_F(CgroupTest, CountsARefusalAtTheOuterLimitInTheOuterGroup) {
  NEED(Pids);
  auto outer = make();
  ASSERT_OK(outer->set_pids(3));
  auto inner = outer->create_child("inner").value();
  EXPECT_EQ(outcome(run_in(*inner, [] { return fork_until_refused(20); })), 2);
  EXPECT_EQ(outer->usage().value().pids_refused, 1u);
}

TEST_F(CgroupTest, CountsCpuTime) {
  auto group = make();
  EXPECT_EQ(outcome(run_in(*group, [] { return burn_cpu(50ms); })), 0);
  CgroupUsage usage = group->usage().value();
  EXPECT_GE(usage.cpu_user_us + usage.cpu_system_us, 45'000u);
  EXPECT_LT(usage.cpu_user_us + usage.cpu_system_us, 5'000'000u);
}

TEST_F(CgroupTest, HoldsTheCpuQuota) {
  NEED(Cpu);
  auto group = make();
  ASSERT_OK(group->set_cpus(0.2));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome(run_in(*group, [] { return burn_cpu(100ms); })), 0);
  // Five periods of 20 ms each. A loaded machine can only make it longer.
  EXPECT_GE(std::chrono::steady_clock::now() - start, 300ms);
}

// A file of 2 MiB on a disk, gone with this.
class FileOnDisk {
 public:
  FileOnDisk() {
    fd_.reset(::mkstemp(path_.data()));
    std::string data(2 * kMiB, 'x');
    if (!fd_ || ::write(fd_.get(), data.data(), data.size()) < 0) return;
    ::fsync(fd_.get());
    struct stat info = fstat(fd_.get()).value();
    std::string folder = concat("/sys/dev/block/", major(info.st_dev), ":", minor(info.st_dev));
    if (exists(folder + "/partition")) folder += "/..";
    Result<std::string> text = read_file(folder + "/dev");
    if (text) disk_ = trim(*text);
  }
  ~FileOnDisk() { ::unlink(path_.c_str()); }
  FileOnDisk(const FileOnDisk&) = delete;
  FileOnDisk& operator=(const FileOnDisk&) = delete;

  const std::string& disk() const { return disk_; }  // "254:0"; empty where it is not on a disk

  // Reads it past the page cache.
  int read_directly() const {
    UniqueFd file(::open(path_.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    void* buffer = nullptr;
    if (!file || ::posix_memalign(&buffer, 4096, 2 * kMiB) != 0) return 1;
    return ::read(file.get(), buffer, 2 * kMiB) == static_cast<ssize_t>(2 * kMiB) ? 0 : 2;
  }

 private:
  std::string path_ = "/var/tmp/cove-test-XXXXXX";
  UniqueFd fd_;
  std::string disk_;
};

TEST_F(CgroupTest, CountsAndLimitsDiskTraffic) {
  NEED(Io);
  FileOnDisk file;
  if (file.disk().empty()) SKIP_OR_FAIL("/var/tmp is not on a disk");
  auto group = make();
  ASSERT_OK(group->set_io(file.disk(), 0, 0));
  EXPECT_EQ(outcome(run_in(*group, [&] { return file.read_directly(); })), 0);
  EXPECT_GE(group->usage().value().io_read_bytes, 2 * kMiB);
  ASSERT_OK(group->set_io(file.disk(), 4 * kMiB, 0));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome(run_in(*group, [&] { return file.read_directly(); })), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 250ms);
}

TEST_F(CgroupTest, FreezesAndThaws) {
  auto group = make();
  run_counter_in(*group);
  EXPECT_TRUE(counter_moves());
  ASSERT_OK(group->freeze());
  uint64_t frozen = shared_->counter;
  std::this_thread::sleep_for(20ms);  // time in which it would count
  EXPECT_EQ(shared_->counter, frozen);
  ASSERT_OK(group->thaw());
  EXPECT_TRUE(counter_moves());
}

TEST_F(CgroupTest, FreezesAnEmptyGroup) {
  auto group = make();
  ASSERT_OK(group->freeze());
  ASSERT_OK(group->thaw());
}

TEST_F(CgroupTest, KillsWhatIsFrozen) {
  auto group = make();
  auto inner = group->create_child("inner").value();
  pid_t pid = run_counter_in(*inner);
  ASSERT_OK(group->freeze());
  ASSERT_OK(group->kill());
  EXPECT_EQ(outcome(pid), kKilled);
}

TEST_F(CgroupTest, KillsAForkLoop) {
  NEED(Pids);
  auto group = make();
  ASSERT_OK(group->set_pids(48));
  pid_t pid = run_in(*group, [] {
    fork_without_end();
    return 0;
  });
  ASSERT_TRUE(wait_until(10s, [&]() -> Result<bool> { return group->usage().value().pids_refused > 0; }).value());
  ASSERT_OK(group->kill());
  EXPECT_EQ(outcome(pid), kKilled);
  EXPECT_TRUE(becomes_empty(*group));
  ASSERT_OK(group->remove());
}

TEST_F(CgroupTest, KillsAForkLoopWithoutTheFreezer) {
  NEED(Pids);
  auto group = tree_->create(prefix_ + "a", {Controller::Pids}).value();
  ASSERT_OK(group->set_pids(48));
  run_in(*group, [] {
    fork_without_end();
    return 0;
  });
  ASSERT_TRUE(wait_until(10s, [&]() -> Result<bool> { return group->usage().value().pids_refused > 0; }).value());
  ASSERT_OK(destroy(*group, 10s));
}

// What V2Group falls back to before Linux 5.14.
TEST_F(CgroupTest, KillsByTheListOfProcesses) {
  auto group = make();
  if (group->clone_fd() < 0) GTEST_SKIP() << "v1 has no other way and is tested above";
  auto inner = group->create_child("inner").value();
  pid_t pid = run_in(*inner, [] { return fork_until_refused(5), wait_forever(), 0; });
  ASSERT_OK(kill_everything(group->clone_fd(), "cgroup.procs"));
  EXPECT_EQ(outcome(pid), kKilled);
  EXPECT_TRUE(becomes_empty(*group));
}

TEST_F(CgroupTest, TellsWhetherSomethingLivesInItOrBelow) {
  auto group = make();
  auto inner = group->create_child("inner").value();
  EXPECT_FALSE(group->populated().value());
  pid_t pid = run_counter_in(*inner);
  EXPECT_TRUE(group->populated().value());
  ASSERT_OK(inner->kill());
  EXPECT_EQ(outcome(pid), kKilled);
  EXPECT_TRUE(becomes_empty(*group));
}

TEST_F(CgroupTest, RefusesToRemoveWhatIsAlive) {
  auto group = make();
  run_counter_in(*group);
  Result<void> removed = group->remove();
  ASSERT_FALSE(removed.has_value());
  EXPECT_EQ(removed.error().code(), Code::Unavailable);
  ASSERT_OK(destroy(*group));
  EXPECT_THAT(tree_->list(prefix_).value(), IsEmpty());
  ASSERT_OK(group->remove());
}

TEST_F(CgroupTest, RemovesTheGroupsBelow) {
  auto group = make();
  auto child = group->create_child("b").value();
  auto grandchild = child->create_child("c").value();
  auto sibling = group->create_child("d").value();
  ASSERT_OK(group->remove());
  EXPECT_THAT(tree_->list(prefix_).value(), IsEmpty());
}

TEST_F(CgroupTest, GivesChildrenLimitsOfTheirOwn) {
  NEED(Memory);
  auto group = make();
  auto small = group->create_child("small").value();
  auto large = group->create_child("large").value();
  for (Controller controller : {Controller::Cpu, Controller::Memory, Controller::Pids})
    EXPECT_EQ(small->has(controller), group->has(controller));
  ASSERT_OK(small->set_memory(16 * kMiB, 0));
  EXPECT_EQ(outcome(run_in(*large, [] { return touch_memory(48 * kMiB); })), 0);
  EXPECT_EQ(outcome(run_in(*small, [] { return touch_memory(48 * kMiB); })), kKilled);
}

TEST_F(CgroupTest, GivesNoChildrenToAGroupWithProcesses) {
  if (tree_->version() != 2) GTEST_SKIP() << "a rule of v2";
  NEED(Memory);
  auto group = make();
  run_counter_in(*group);
  Result<std::unique_ptr<Cgroup>> child = group->create_child("b");
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().code(), Code::Unavailable);
}

TEST_F(CgroupTest, OutlivesItsHandleAndIsAdopted) {
  NEED(Pids);
  pid_t pid = run_counter_in(*make("lives"));
  EXPECT_THAT(tree_->list(prefix_).value(), ElementsAre(prefix_ + "lives"));
  auto group = CgroupTree::find().value()->adopt(prefix_ + "lives").value();
  for (Controller controller : kAll) EXPECT_EQ(group->has(controller), tree_->has(controller));
  EXPECT_EQ(group->usage().value().pids, 1u);
  ASSERT_OK(destroy(*group));
  EXPECT_EQ(outcome(pid), kKilled);
}

TEST_F(CgroupTest, ListsOnlyItsPrefix) {
  auto a1 = make("a1");
  auto a2 = make("a2");
  auto b = make("b");
  EXPECT_THAT(tree_->list(prefix_ + "a").value(), ElementsAre(prefix_ + "a1", prefix_ + "a2"));
}

TEST_F(CgroupTest, MakesNoGroupTwice) {
  auto group = make();
  Result<std::unique_ptr<Cgroup>> again = tree_->create(prefix_ + "a", kAll);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code(), Code::Exists);
  EXPECT_TRUE(group->usage().has_value());
}

TEST_F(CgroupTest, AdoptsOnlyWhatIsThere) {
  EXPECT_EQ(tree_->adopt(prefix_ + "none").error().code(), Code::NotFound);
  EXPECT_EQ(tree_->adopt("../x").error().code(), Code::Invalid);
  EXPECT_EQ(tree_->create("..", kAll).error().code(), Code::Invalid);
}

TEST_F(CgroupTest, SaysWhichControllerIsMissing) {
  if (tree_->version() != 1) GTEST_SKIP() << "a v2 group has all that its tree has";
  auto group = tree_->create(prefix_ + "a", {Controller::Pids}).value();
  Result<void> limited = group->set_memory(kMiB, 0);
  ASSERT_FALSE(limited.has_value());
  EXPECT_EQ(limited.error().code(), Code::Unsupported);
  EXPECT_NE(limited.error().hint(), "");
}

TEST_F(CgroupTest, WorksAfterAChangeOfRoot) {
  NEED(Pids);
  if (::geteuid() != 0) SKIP_OR_FAIL("chroot needs root");
  auto group = make();
  pid_t pid = ::fork();
  if (pid == 0) {
    bool good = ::chroot("/proc/self/fdinfo") == 0 && ::chdir("/") == 0 && group->set_pids(3).has_value() &&
                group->usage().has_value() && group->create_child("b").has_value() && group->remove().has_value() &&
                tree_->create(prefix_ + "after", kAll).has_value();
    ::_exit(good ? 0 : 1);
  }
  EXPECT_EQ(outcome(pid), 0);
  EXPECT_THAT(tree_->list(prefix_).value(), ElementsAre(prefix_ + "after"));
}

TEST_F(CgroupTest, StartsAProcessInside) {
  auto group = make();
  if (group->clone_fd() < 0) GTEST_SKIP() << "v1 has no CLONE_INTO_CGROUP";
  struct clone_args arguments = {};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<uint64_t>(group->clone_fd());
  auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) wait_forever();
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(group->populated().value());
  ASSERT_OK(group->kill());
  EXPECT_EQ(outcome(pid), kKilled);
}

}  // namespace
}  // namespace cove::sys
