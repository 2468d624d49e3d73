// Whatever ends a run, nothing of it stays.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "support/person.h"

namespace cove::test {
namespace {

// A run that is under way; its output goes to a pipe.
class Running {
 public:
  Running(const Person& person, std::vector<std::string> args) {
    args.insert(args.begin(), build_folder() + "/cove");
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 1);
      ::setpgid(0, 0);
      for (const std::string& entry : person.options.env) ::putenv(const_cast<char*>(entry.c_str()));
      if (person.options.uid && (::setresgid(*person.options.uid, *person.options.uid, *person.options.uid) < 0 ||
                                 ::setresuid(*person.options.uid, *person.options.uid, *person.options.uid) < 0))
        ::_exit(98);
      std::vector<char*> words;
      for (std::string& word : args) words.push_back(word.data());
      words.push_back(nullptr);
      ::execv(words[0], words.data());
      ::_exit(99);
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Running() { ::close(out_); }

  void wait_for_output() {
    char c;
    EXPECT_EQ(::read(out_, &c, 1), 1);
  }
  void kill(int signal) { ::kill(pid_, signal); }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

class Kill : public ForEverybody {};

TEST_P(Kill, ByForceLeavesNothing) {
  Traces before = find_traces();
  Running running(GetParam(), {"run", "--", "sh", "-c", "setsid sleep 971 & sudo sleep 971 & echo up; wait"});
  running.wait_for_output();
  running.kill(SIGKILL);
  EXPECT_EQ(running.wait(), 137);
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
  EXPECT_NE(run({"pgrep", "-f", "sleep 971"}).exit_code, 0);
}

TEST_P(Kill, AtAnyMomentLeavesNothing) {
  Traces before = find_traces();
  for (int i = 0; i < 40; ++i) {
    Running running(GetParam(), {"run", "--", "sleep", "5"});
    std::this_thread::sleep_for(std::chrono::microseconds(i * 400));
    running.kill(SIGKILL);
    running.wait();
  }
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

TEST_P(Kill, CtrlCAtAnyMomentLeavesNothing) {
  Traces before = find_traces();
  for (int i = 0; i < 20; ++i) {
    Running running(GetParam(), {"run", "--", "sleep", "5"});
    std::this_thread::sleep_for(std::chrono::microseconds(i * 700));
    running.kill(SIGINT);
    EXPECT_EQ(running.wait(), 130);
  }
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

TEST_P(Kill, SignalsReachTheProgram) {
  Running running(GetParam(), {"run", "--", "sh", "-c", "trap 'exit 42' TERM; echo up; while :; do sleep 0.05; done"});
  running.wait_for_output();
  running.kill(SIGTERM);
  EXPECT_EQ(running.wait(), 42);
}

TEST_P(Kill, OrphansDieWithTheRun) {
  Traces before = find_traces();
  EXPECT_EQ(cove({"run", "--", "sh", "-c", "setsid nohup sleep 972 >/dev/null 2>&1 & exit 0"}).exit_code, 0);
  EXPECT_NE(run({"pgrep", "-f", "sleep 972"}).exit_code, 0);
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

COVE_FOR_EVERYBODY(Kill);

class TracesOf : public ForEverybody {};

TEST_P(TracesOf, ManyInARowAndAtOnceAreNone) {
  Traces before = find_traces();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cove({"run", "--", "true"}).exit_code, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i)
    threads.emplace_back([this] { EXPECT_EQ(cove({"run", "--", "sh", "-c", "echo x > f"}).exit_code, 0); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

COVE_FOR_EVERYBODY(TracesOf);

}  // namespace
}  // namespace cove::test
