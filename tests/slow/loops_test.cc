// Loops that take too long for every change: `./dev test all`.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "support/person.h"

namespace cove::test {
namespace {

TEST(Loops, AThousandInARowLeaveNoTrace) {
  COVE_NEEDS_ROOT();
  Traces before = find_traces();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(cove({"run", "--", "true"}).exit_code, 0);
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

TEST(Loops, AHundredAtOnceLeaveNoTrace) {
  COVE_NEEDS_ROOT();
  Traces before = find_traces();
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i)
    threads.emplace_back([] { EXPECT_EQ(cove({"run", "--", "sh", "-c", "echo x > f; sleep 1"}).exit_code, 0); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

TEST(Loops, KilledAtFourHundredMomentsItLeavesNoTrace) {
  COVE_NEEDS_ROOT();
  Traces before = find_traces();
  std::mt19937 random(7);
  std::string program = build_folder() + "/cove";
  for (int i = 0; i < 400; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      ::execl(program.c_str(), "cove", "run", "--", "sh", "-c", "echo x > f; setsid sleep 3 & sleep 3", nullptr);
      ::_exit(99);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

TEST(Loops, WhatTheWatcherCouldNotCleanTheNextRunDoes) {
  COVE_NEEDS_ROOT();
  Traces before = find_traces();
  for (int i = 0; i < 10; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      std::string program = build_folder() + "/cove";
      ::execl(program.c_str(), "cove", "run", "--", "sleep", "30", nullptr);
      ::_exit(99);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    run({"pkill", "-KILL", "-P", std::to_string(pid)});
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(cove({"run", "--", "true"}).exit_code, 0);
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

}  // namespace
}  // namespace cove::test
