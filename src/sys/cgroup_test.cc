#include "sys/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/text.h"
#include "sys/cgroup_folder.h"
#include "sys/cgroup_mounts.h"
#include "sys/cgroup_v1_group.h"
#include "sys/cgroup_v2_group.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr uint64_t kMiB = 1 << 20;
const std::vector<Controller> kAll = {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Io,
                                      Controller::Freezer};

// Skips the test; where COVE_TEST_STRICT=1, fails it.
#define SKIP_OR_FAIL(reason)                                                      \
  do {                                                                            \
    const char* strict = ::getenv("COVE_TEST_STRICT");                            \
    if (strict != nullptr && std::string_view(strict) == "1") FAIL() << (reason); \
    GTEST_SKIP() << (reason);                                                     \
  } while (false)

#define ASSERT_OK(...)                                                 \
  do {                                                                 \
    auto ok_result = (__VA_ARGS__);                                    \
    ASSERT_TRUE(ok_result.has_value()) << ok_result.error().message(); \
  } while (false)

// --- What /proc says ---

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
  EXPECT_TRUE(has_word("rw,cpu,cpuacct", "cpuacct", ','));
  EXPECT_FALSE(has_word("rw,cpuset", "cpu", ','));
  EXPECT_TRUE(has_word("cpu io memory\n", "memory", ' '));
  EXPECT_FALSE(has_word("", "memory", ' '));
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

// --- Against the real kernel ---

// Memory that this process and its children share.
struct Shared {
  std::atomic<uint64_t> counter = 0;
};

// Waits for the end of a child; 128 + signal where it was killed.
int outcome(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr int kKilled = 128 + SIGKILL;

void wait_forever() {
  for (;;) ::pause();
}

int touch_memory(size_t bytes) {
  auto* memory =
      static_cast<volatile char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  return 0;
}

int burn_cpu(std::chrono::milliseconds time) {
  for (;;) {
    struct timespec used;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if (std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) >= time) return 0;
  }
}

// Forks children that wait, until one is refused or `most` are there; returns how many there are.
int fork_until_refused(int most) {
  for (int count = 0; count < most; ++count) {
    pid_t pid = ::fork();
    if (pid < 0) return count;
    if (pid == 0) wait_forever();
  }
  return most;
}

// A process that replaces itself and multiplies for as long as the limit of its group lets it.
void fork_without_end() {
  for (;;) static_cast<void>(::fork());
}

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<CgroupTree>> found = CgroupTree::find();
    if (!found) SKIP_OR_FAIL(found.error().message() + " (" + found.error().hint() + ")");
    tree_ = std::move(*found);
    // Orphans of the groups become children of this process, which reaps them.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
  }

  void TearDown() override {
    if (!tree_) return;
    std::vector<std::string> left = tree_->list(prefix_).value();
    for (const std::string& name : left) {
      std::unique_ptr<Cgroup> group = tree_->adopt(name).value();
      Result<void> gone = destroy(*group);
      EXPECT_TRUE(gone.has_value()) << gone.error().message();
    }
    EXPECT_THAT(tree_->list(prefix_).value(), IsEmpty());
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    ::munmap(shared_, 4096);
  }

  std::unique_ptr<Cgroup> make(const std::string& name = "a") {
    Result<std::unique_ptr<Cgroup>> group = tree_->create(prefix_ + name, kAll);
    if (!group) {
      ADD_FAILURE() << group.error().message();
      std::abort();
    }
    return std::move(*group);
  }

  // A child that joins the group, tells so and runs `body`. Returns after it has joined.
  pid_t run_in(const Cgroup& group, const std::function<int()>& body) {
    std::vector<UniqueFd> joins = group.open_join_fds().value();
    Pipe joined = pipe().value();
    pid_t pid = ::fork();
    if (pid == 0) {
      for (const UniqueFd& join : joins) {
        if (::write(join.get(), "0", 1) != 1) ::_exit(99);
      }
      if (::write(joined.write.get(), "j", 1) != 1) ::_exit(98);
      ::_exit(body());
    }
    joined.write.reset();
    char byte;
    EXPECT_EQ(::read(joined.read.get(), &byte, 1), 1) << "the child could not join";
    return pid;
  }

  // Counts up in shared memory until it is killed.
  pid_t run_counter_in(const Cgroup& group) {
    return run_in(group, [this] {
      for (;;) ++shared_->counter;
      return 0;
    });
  }

  bool counter_moves() {
    uint64_t before = shared_->counter;
    Result<bool> moved = wait_until(10s, [&]() -> Result<bool> { return shared_->counter != before; });
    return moved.value();
  }

  bool becomes_empty(const Cgroup& group) {
    return wait_until(10s, [&]() -> Result<bool> { return !group.populated().value(); }).value();
  }

  const std::string prefix_ = concat("cove-test-", ::getpid(), "-");
  std::unique_ptr<CgroupTree> tree_;
  Shared* shared_ = nullptr;
};

#define NEED(controller) \
  if (!tree_->has(Controller::controller)) SKIP_OR_FAIL(#controller " cannot be used here: " + tree_->describe())

TEST_F(CgroupTest, FindsAllControllersAsRoot) {
  if (::geteuid() != 0) SKIP_OR_FAIL("only root has all controllers for sure");
  for (Controller controller : kAll) EXPECT_TRUE(tree_->has(controller)) << controller_name(controller);
  EXPECT_EQ(tree_->describe(), "");
}

TEST_F(CgroupTest, KillsAtTheMemoryLimit) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(32 * kMiB));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(96 * kMiB); })), kKilled);
  CgroupUsage usage = group->usage().value();
  EXPECT_EQ(usage.oom_kills, 1u);
  EXPECT_GE(usage.memory_peak_bytes, 24 * kMiB);
  EXPECT_LE(usage.memory_peak_bytes, 33 * kMiB);
}

TEST_F(CgroupTest, LeavesAProgramUnderTheMemoryLimitAlone) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(32 * kMiB));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(16 * kMiB); })), 0);
  EXPECT_EQ(group->usage().value().oom_kills, 0u);
}

TEST_F(CgroupTest, RaisesAndLowersTheMemoryLimit) {
  NEED(Memory);
  auto group = make();
  ASSERT_OK(group->set_memory(8 * kMiB));
  ASSERT_OK(group->set_memory(64 * kMiB));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(32 * kMiB); })), 0);
  ASSERT_OK(group->set_memory(16 * kMiB));
  EXPECT_EQ(outcome(run_in(*group, [] { return touch_memory(32 * kMiB); })), kKilled);
}

TEST_F(CgroupTest, CountsAKillAtTheOuterLimitInBothGroups) {
  NEED(Memory);
  auto outer = make();
  ASSERT_OK(outer->set_memory(32 * kMiB));
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
  ASSERT_OK(small->set_memory(16 * kMiB));
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

// --- Used again: on v1 only ---

class RenewedCgroupTest : public CgroupTest {
 protected:
  void SetUp() override {
    CgroupTest::SetUp();
    if (!tree_ || IsSkipped()) return;
    if (tree_->version() != 1) GTEST_SKIP() << "the counters of cgroup v2 cannot be set back";
    outer_ = tree_->create(prefix_ + "a", {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer})
                 .value();
    inner_ = outer_->create_child("inner").value();
  }
  // What a process was charged with goes a little later than the process.
  bool renews() {
    return wait_until(500ms, [&]() -> Result<bool> { return outer_->renew(*inner_); }).value();
  }

  std::unique_ptr<Cgroup> outer_, inner_;
};

TEST_F(RenewedCgroupTest, CountsFromTheBeginning) {
  EXPECT_EQ(outcome(run_in(*inner_, [] { return touch_memory(32 * kMiB) + burn_cpu(100ms); })), 0);
  ASSERT_GE(outer_->usage().value().memory_peak_bytes, 32 * kMiB);
  ASSERT_TRUE(renews());
  for (const auto& group : {outer_.get(), inner_.get()}) {
    CgroupUsage usage = group->usage().value();
    EXPECT_EQ(usage.cpu_user_us + usage.cpu_system_us, 0u);
    EXPECT_LE(usage.memory_peak_bytes, kMiB);
    EXPECT_LE(usage.pids_peak, 1u);
  }
  EXPECT_EQ(outcome(run_in(*inner_, [] { return burn_cpu(50ms); })), 0);
  CgroupUsage usage = inner_->usage().value();
  EXPECT_GE(usage.cpu_user_us + usage.cpu_system_us, 50'000u);
  EXPECT_LT(usage.cpu_user_us + usage.cpu_system_us, 100'000u);
}

TEST_F(RenewedCgroupTest, IsNotWhereSomethingWasKilledForMemory) {
  ASSERT_OK(outer_->set_memory(16 * kMiB));
  EXPECT_EQ(outcome(run_in(*inner_, [] { return touch_memory(64 * kMiB); })), kKilled);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereAForkWasRefused) {
  ASSERT_OK(outer_->set_pids(1));
  EXPECT_EQ(outcome(run_in(*inner_, [] { return fork_until_refused(1); })), 0);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereThereWereTwo) {
  EXPECT_EQ(outcome(run_in(*inner_, [] { return fork_until_refused(1); })), 1);
  ASSERT_OK(inner_->kill());
  ASSERT_TRUE(becomes_empty(*inner_));
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereItWasKilled) {
  run_counter_in(*inner_);
  ASSERT_OK(inner_->kill());
  ASSERT_TRUE(becomes_empty(*inner_));
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereSomethingLives) {
  run_counter_in(*inner_);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, HasItsNewNameInAllHierarchies) {
  ASSERT_OK(outer_->rename(prefix_ + "b"));
  EXPECT_EQ(outer_->name(), prefix_ + "b");
  EXPECT_FALSE(tree_->adopt(prefix_ + "a"));
  std::unique_ptr<Cgroup> adopted = tree_->adopt(prefix_ + "b").value();
  for (Controller controller : {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer})
    EXPECT_TRUE(adopted->has(controller)) << controller_name(controller);
  EXPECT_EQ(outcome(run_in(*inner_, [] { return burn_cpu(50ms); })), 0);
  CgroupUsage usage = adopted->usage().value();
  EXPECT_GE(usage.cpu_user_us + usage.cpu_system_us, 50'000u);
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
  Result<void> limited = group->set_memory(kMiB);
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
