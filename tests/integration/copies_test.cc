// Interpreters that are copies of one that waited in another sandbox: they are as if they had been started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "integration/pooled_server.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

constexpr const char* kCopies = "cove_pool_copies_total";

// A crowd that never finds enough ready.
class Copies : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.wait_for_ready(1));
    // Until there are some.
    for (int i = 0; i < 20 && server_.metric(kCopies) == 0; ++i) python(20, "");
    ASSERT_GT(server_.metric(kCopies), 0);
  }
  // What so many runs of it gave, in the order in which they ended; copies are among them.
  std::vector<json> python(int count, const std::string& code) const {
    const long before = server_.metric(kCopies);
    std::mutex mutex;
    std::vector<json> results;
    std::vector<std::thread> crowd;
    std::atomic<int> left = count;
    for (int i = 0; i < 3; ++i)
      crowd.emplace_back([&] {
        while (left-- > 0) {
          json result = server_.run_once({{"language", "python"}, {"code", code}});
          std::lock_guard lock(mutex);
          results.push_back(std::move(result));
        }
      });
    for (std::thread& each : crowd) each.join();
    EXPECT_TRUE(count < kEnough || server_.metric(kCopies) > before);
    return results;
  }
  // All of them printed this.
  void expect_all(int count, const std::string& code, const std::string& text) const {
    for (const json& result : python(count, code)) EXPECT_EQ(text_of(result), text);
  }

  static constexpr int kEnough = 30;  // so many of which some are copies
  PooledServer server_{1};
};

TEST_F(Copies, HaveSeedsOfTheirOwnForHashes) {
  std::set<std::string> seen;
  for (const json& result : python(120, "print(hash('a'), hash(b'a'), [*map(str, {'a', 'b', 'c', 'd'})] == 0)"))
    seen.insert(text_of(result));
  EXPECT_EQ(seen.size(), 120u);
}

// Whatever has a hash is found by it.
TEST_F(Copies, FindAllThatTheInterpreterHasLoaded) {
  constexpr const char* kLookAtAll = R"py(import gc, sys
def fresh(key):
    if type(key) in (str, bytes): return (key + key)[:len(key)]
    return tuple(map(fresh, key)) if type(key) is tuple else key
wrong, seen, left, dicts = [], set(), [*gc.get_objects(), sys.modules, sys.modules["os"].environ], 0
while left:
    each = left.pop()
    if id(each) in seen or each is left or each is seen or each is wrong: continue
    seen.add(id(each))
    if type(each) in (str, bytes) and hash(each) != hash(fresh(each)): wrong.append(each)
    if isinstance(each, dict):
        dicts += 1
        wrong += [key for key in list(each) if not dict.__contains__(each, fresh(key))]
    if isinstance(each, (set, frozenset)): wrong += [key for key in list(each) if fresh(key) not in each]
    left += gc.get_referents(each)
print(wrong, dicts > 100))py";
  expect_all(kEnough, kLookAtAll, "[] True\n");
}

TEST_F(Copies, HaveRandomNumbersOfTheirOwn) {
  std::map<std::string, int> seen;
  for (const json& result : python(60,
                                   "import os, random, tempfile, uuid\n"
                                   "print(random.random(), uuid.uuid4(), os.urandom(8), tempfile.mktemp())"))
    ++seen[text_of(result)];
  EXPECT_EQ(seen.size(), 60u);
}

// What /proc tells of a program, but for what tells any two apart: addresses, times, the name of its file.
constexpr const char* kLook = R"py(import os, re
def read(name): return open("/proc/self/" + name).read()
status = [line for line in read("status").splitlines() if not re.match("Vm|Rss|(non)?voluntary|Tgid|Pid|NS", line)]
areas = [(line.split() + [""])[5] for line in read("maps").splitlines()]
print("\n".join(status), sorted(set(areas)), read("limits"), read("cgroup"), read("comm"), sep="\n")
ids = [each.replace(str(os.getpid()), "own") for each in read("stat").rsplit(")", 1)[1].split()[1:7]]
print(ids, read("cmdline").split("\0")[:-2], read("environ"))
print(os.readlink("/proc/self/exe"), os.readlink("/proc/self/cwd"), sorted(os.listdir("/proc/self/fd")))
print([os.fstat(fd).st_mode for fd in range(3)], [os.get_blocking(fd) for fd in range(3)], os.umask(0), os.nice(0))
print(read("timerslack_ns"), read("oom_score_adj"), read("loginuid"), os.sched_getscheduler(0), os.sched_getaffinity(0))
print([line for line in read("smaps").splitlines() if line.startswith("VmFlags") and " gd " in line])
print([line for line in read("maps").splitlines() if line.split()[1].startswith("rwx")]))py";

TEST_F(Copies, CannotBeToldFromOneThatWasStarted) {
  PooledServer cold(0);
  ASSERT_TRUE(cold.running());
  const json started = cold.run_once({{"language", "python"}, {"code", kLook}});
  const std::string expected = without_names(text_of(started));
  ASSERT_THAT(expected, HasSubstr("CapEff:\t0000000000000000"));
  ASSERT_THAT(expected, HasSubstr("Seccomp:\t2"));
  for (const json& result : python(60, kLook)) ASSERT_EQ(without_names(text_of(result)), expected);
}

TEST_F(Copies, GrowTheirStackAndTheirHeap) {
  constexpr const char* kGrow = R"py(import sys, threading
sys.setrecursionlimit(100000)
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
print(deep(20000), sum(len(bytes(1000)) for _ in range(100000)), len([bytes(100) for _ in range(500000)]))
print(max(map(len, ["x" * (64 << 20)])), repr(eval("(" * 80 + "1" + ")" * 80)))
threads = [threading.Thread(target=deep, args=(500,)) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(threading.main_thread().native_id == threading.get_native_id()))py";
  expect_all(kEnough, kGrow, "20000 100000000 500000\n67108864 1\nTrue\n");
}

TEST_F(Copies, CanBeInterruptedAndTimed) {
  constexpr const char* kInterrupt = R"py(import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
print(abs(time.time() - time.clock_gettime(time.CLOCK_REALTIME)) < 1, time.perf_counter() > 0))py";
  expect_all(kEnough, kInterrupt, "interrupted\nalarm\nTrue True\n");
}

TEST_F(Copies, AreCountedLikeOthers) {
  for (const json& result : python(kEnough, "x = bytearray(50 << 20)\nfor _ in range(10**6): pass")) {
    EXPECT_GT(result["usage"]["memory_peak_bytes"], 50 << 20);
    EXPECT_GT(result["usage"]["cpu_user_ms"], 5);
  }
}

TEST(CopiesElsewhere, AreNotMadeWhereNobodyHasToDoWithout) {
  PooledServer server(1);
  ASSERT_TRUE(server.wait_for_ready(1));
  server.teach("python");
  std::this_thread::sleep_for(std::chrono::seconds(3));  // a shortage lasts for two after somebody found none
  const long before = server.metric(kCopies);
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(server.wait_for_ready(1));
    EXPECT_EQ(text_of(server.run_once({{"language", "python"}, {"code", "print(1)"}})), "1\n");
  }
  EXPECT_EQ(server.metric(kCopies), before);
}

TEST(CopiesElsewhere, AreNotMadeWhereTheSettingsSaySo) {
  PooledServer server(std::vector<std::string>{"--pool-size", "1", "--pool-copies", "0"});
  ASSERT_TRUE(server.wait_for_ready(1));
  std::vector<std::thread> crowd;
  for (int i = 0; i < 3; ++i)
    crowd.emplace_back([&] {
      for (int k = 0; k < 20; ++k) server.run_once({{"language", "python"}, {"code", ""}});
    });
  for (std::thread& each : crowd) each.join();
  EXPECT_GT(server.metric("cove_pool_missed_total"), 0);
  EXPECT_EQ(server.metric(kCopies), 0);
}

}  // namespace
}  // namespace cove::test
