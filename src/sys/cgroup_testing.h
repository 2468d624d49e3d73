#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/cgroup_folder.h"
#include "sys/file.h"
#include "sys/testing.h"

// Control groups against the real kernel: groups of a test's own, and what is run in them.
namespace cove::sys {

using namespace std::chrono_literals;

inline constexpr uint64_t kMiB = 1 << 20;
inline const std::vector<Controller> kAll = {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Io,
                                             Controller::Freezer};

// Memory that this process and its children share.
struct Shared {
  std::atomic<uint64_t> counter = 0;
};

// Waits for the end of a child; 128 + signal where it was killed.
inline int outcome(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

inline constexpr int kKilled = 128 + SIGKILL;

inline void wait_forever() {
  for (;;) ::pause();
}

inline int touch_memory(size_t bytes) {
  auto* memory =
      static_cast<volatile char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  return 0;
}

inline int burn_cpu(std::chrono::milliseconds time) {
  for (;;) {
    struct timespec used;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if (std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) >= time) return 0;
  }
}

// Forks children that wait, until one is refused or `most` are there; returns how many there are.
inline int fork_until_refused(int most) {
  for (int count = 0; count < most; ++count) {
    pid_t pid = ::fork();
    if (pid < 0) return count;
    if (pid == 0) wait_forever();
  }
  return most;
}

// A process that replaces itself and multiplies for as long as the limit of its group lets it.
inline void fork_without_end() {
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
    EXPECT_THAT(tree_->list(prefix_).value(), testing::IsEmpty());
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

}  // namespace cove::sys
