// Limits hold, hostile programs are contained, and what runs beside them does not notice.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/person.h"

namespace cove::test {
namespace {

nlohmann::json result_of(const Outcome& outcome) {
  nlohmann::json result = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(result.is_object()) << outcome.out << outcome.err;
  return result;
}

// Named limits need control groups, which an ordinary user has only through his systemd.
class Limits : public ForEverybody {
 protected:
  bool has_groups() const {
    return result_of(cove({"run", "--json", "--", "true"}))["limits"]["memory"]["enforced_by"] == "cgroup";
  }
  // Only root can show a sandbox its own groups.
  bool sees_groups() const { return has_groups() && !rootless(); }
};

TEST_P(Limits, MemoryIsHeld) {
  Outcome outcome = cove({"run", "-m", "64m", "--json", "--", "python3", "-c", "x = bytearray(b'x') * (300 << 20)"});
  if (!has_groups()) {
    EXPECT_EQ(outcome.exit_code, 125);
    EXPECT_NE(outcome.err.find("memory"), std::string::npos);
    EXPECT_NE(outcome.err.find("hint"), std::string::npos);
    return;
  }
  nlohmann::json result = result_of(outcome);
  EXPECT_EQ(result["status"], "oom_killed");
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_LE(result["usage"]["memory_peak_bytes"], 64 << 20);
}

TEST_P(Limits, AreSeenInside) {
  EXPECT_EQ(cove({"run", "--", "grep", "MemTotal", "/proc/meminfo"}).out, "MemTotal: 2097152 kB\n");
  if (!sees_groups()) return;
  auto inside = [&](const std::string& script) {
    return cove({"run", "-m", "512m", "--cpus", "1", "--", "sh", "-c", script}).out;
  };
  EXPECT_EQ(inside("nproc"), "1\n");
  EXPECT_EQ(inside("grep MemTotal /proc/meminfo"), "MemTotal: 524288 kB\n");
  EXPECT_EQ(inside("python3 -c 'import os; print(len(os.sched_getaffinity(0)))'"), "1\n");
  EXPECT_EQ(inside("cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes 2> /dev/null || cat memory.max"),
            "536870912\n");
  if (::access("/usr/bin/node", X_OK) == 0) {
    EXPECT_EQ(inside("node -p 'os.totalmem() >> 20'"), "512\n");
  }
  // A quarter of it, as Java does.
  if (::access("/usr/bin/java", X_OK) == 0) {
    EXPECT_EQ(inside("java -XX:+PrintFlagsFinal -version 2> /dev/null | awk '/ MaxHeapSize/ { print $4 }'"),
              "134217728\n");
  }
}

// The group's folder can be looked at, and nothing in it changed.
TEST_P(Limits, CannotBeChangedInside) {
  if (!sees_groups()) return;
  Outcome outcome = cove({"run", "-u", "root", "--", "sh", "-c", R"(
cd /sys/fs/cgroup
for file in $(find . -type f -name '*limit_in_bytes' -o -name 'pids.max' -o -name 'memory.max' -o -name tasks); do
  echo 100000000 > $file && echo changed $file
done
for folder in $(find . -type d); do mkdir $folder/more && echo made; done
mount -o remount,rw /sys/fs/cgroup && echo mounted
exit 0)"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "") << outcome.err;
  EXPECT_NE(outcome.err.find("Read-only file system"), std::string::npos) << outcome.err;
}

TEST_P(Limits, OtherSandboxesAreNotSeen) {
  if (!has_groups()) return;
  EXPECT_EQ(cove({"run", "--", "sh", "-c", "find /sys -name '*cove*'"}).out, "");
}

TEST_P(Limits, StrictRefusesWhatFallsBack) {
  EXPECT_EQ(cove({"run", "--strict", "--", "true"}).exit_code, has_groups() ? 0 : 125);
}

TEST_P(Limits, ProcessesAreHeld) {
  Outcome outcome = cove({"run", "--pids-limit", "30", "--", "python3", "-c", R"(
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        n += 1
except BlockingIOError:
    pass
print(n)
)"});
  EXPECT_GT(std::stoi(outcome.out), 20) << outcome.err;
  EXPECT_LE(std::stoi(outcome.out), 30);
}

TEST_P(Limits, CpuIsHeld) {
  Outcome outcome = cove({"run", "--cpus", "0.5", "--json", "--", "sh", "-c", "timeout 1 sh -c 'while :; do :; done'"});
  if (!has_groups()) {
    EXPECT_EQ(outcome.exit_code, 125);
    return;
  }
  nlohmann::json usage = result_of(outcome)["usage"];
  EXPECT_LT(usage["cpu_user_ms"].get<int>() + usage["cpu_system_ms"].get<int>(), 900);
}

TEST_P(Limits, DiskIsHeld) {
  Outcome outcome =
      cove({"run", "--disk", "20m", "--", "sh", "-c", "head -c 50m /dev/zero > a; ls -s a | cut -d' ' -f1"});
  EXPECT_LE(std::stoi(outcome.out), 20 * 1024);
  EXPECT_NE(outcome.err.find("No space left"), std::string::npos) << outcome.err;
}

TEST_P(Limits, InodesAreHeld) {
  Outcome outcome = cove({"run", "--disk", "8m", "--", "python3", "-c", R"(
import os
n = 0
try:
    while n < 200000:
        os.close(os.open(f'f{n}', os.O_CREAT))
        n += 1
except OSError as e:
    print(e.errno)
)"});
  EXPECT_EQ(outcome.out, "28\n");
}

TEST_P(Limits, FileSizeIsHeld) {
  Outcome outcome = cove({"run", "--file-size", "1m", "--", "sh", "-c", "head -c 5000000 /dev/zero > a; stat -c %s a"});
  EXPECT_EQ(outcome.out, "1048576\n") << outcome.err;
}

TEST_P(Limits, DescriptorsAreHeld) {
  Outcome outcome = cove({"run", "--", "python3", "-c", R"(
import os, resource
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
held = []
try:
    while True: held.append(os.dup(0))
except OSError as e:
    print(e.errno)
)"});
  EXPECT_EQ(outcome.out, "1024\n24\n");
}

TEST_P(Limits, TimeIsHeld) {
  Outcome outcome = cove({"run", "--timeout", "200ms", "--json", "--", "sleep", "60"});
  EXPECT_EQ(outcome.exit_code, 124);
  EXPECT_EQ(result_of(outcome)["status"], "timeout");
}

TEST_P(Limits, TimeIsHeldAgainstWhoIgnoresTheRequest) {
  Outcome outcome = cove(
      {"run", "--timeout", "200ms", "--", "sh", "-c", "trap '' TERM; setsid sleep 61 & while :; do sleep 1; done"});
  EXPECT_EQ(outcome.exit_code, 124);
}

TEST_P(Limits, AFullDiskIsTold) {
  nlohmann::json result =
      result_of(cove({"run", "--disk", "4m", "--json", "--", "sh", "-c", "head -c 20M /dev/zero > big"}));
  ASSERT_EQ(result["denials"].size(), 1u) << result;
  EXPECT_NE(result["denials"][0]["what"].get<std::string>().find("disk is full"), std::string::npos) << result;
  EXPECT_EQ(result["denials"][0]["why"], "the limit is 4 MiB");
}

TEST_P(Limits, AFileThatIsTooLargeIsTold) {
  // The exec itself, a child of its shell, and a program that handles the signal.
  for (const char* script : {"exec head -c 20M /dev/zero > big", "head -c 20M /dev/zero > big; exit 1",
                             "python3 -c \"open('big', 'wb').write(bytes(20 << 20))\""}) {
    nlohmann::json result = result_of(cove({"run", "--file-size", "1m", "--json", "--", "bash", "-c", script}));
    ASSERT_EQ(result["denials"].size(), 1u) << script << result;
    EXPECT_EQ(result["denials"][0]["why"], "the limit is 1 MiB") << script;
  }
}

TEST_P(Limits, TooManyOpenFilesAreTold) {
  nlohmann::json result = result_of(cove(
      {"run", "--ulimit", "nofile=64", "--json", "--", "python3", "-c", "a = [open('/dev/null') for i in range(99)]"}));
  ASSERT_EQ(result["denials"].size(), 1u) << result;
  EXPECT_EQ(result["denials"][0]["why"], "the limit is 64 for each process");
}

TEST_P(Limits, AFullDiskIsToldAfterItWasEmptiedAgain) {
  nlohmann::json result = result_of(
      cove({"run", "--disk", "4m", "--json", "--", "sh", "-c", "head -c 20M /dev/zero > big; rm big; exit 1"}));
  EXPECT_EQ(result["denials"][0]["why"], "the limit is 4 MiB") << result;
}

TEST_P(Limits, OutputIsHeld) {
  Outcome outcome = cove({"run", "--max-output", "1m", "--json", "--", "cat", "/dev/zero"});
  EXPECT_EQ(result_of(outcome)["status"], "limit_exceeded");
}

TEST_P(Limits, ASlowReaderMakesTheProgramWait) {
  std::string command = build_folder() + "/cove run -- head -c 20000000 /dev/zero | (sleep 0.3; wc -c)";
  EXPECT_EQ(run({"sh", "-c", command}, GetParam().options).out, "20000000\n");
}

// Each of these tries to take the machine down; a second sandbox must not notice.
class LimitsUnderAttack : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(LimitsUnderAttack, ANeighbourDoesNotNotice) {
  COVE_NEEDS_ROOT();
  Traces before = find_traces();
  pid_t attacker = ::fork();
  if (attacker == 0) {
    ::freopen("/dev/null", "w", stdout);
    ::freopen("/dev/null", "w", stderr);
    std::string program = build_folder() + "/cove";
    ::execl(program.c_str(), "cove", "run", "--timeout", "4s", "-m", "256m", "--disk", "64m", "--", "python3", "-c",
            GetParam().second, nullptr);
    ::_exit(99);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (int i = 0; i < 5; ++i) {
    ChildOptions options;
    options.patience = std::chrono::seconds(20);
    Outcome outcome = cove({"run", "--", "sh", "-c", "echo fine > note && cat note"}, options);
    EXPECT_EQ(outcome.out, "fine\n") << outcome.err;
  }
  int status = 0;
  ::waitpid(attacker, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

INSTANTIATE_TEST_SUITE_P(
    By, LimitsUnderAttack,
    testing::Values(
        std::pair{"ForkBomb", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"},
        std::pair{"MemoryBomb", "x=[]\nwhile True: x.append(bytearray(b'x')*(1<<20))"},
        std::pair{"DiskFiller",
                  "import itertools\nfor i in itertools.count():\n  try: open(f'f{i}','wb').write(b'x'*(1<<20))\n  "
                  "except OSError: pass"},
        std::pair{
            "InodeFiller",
            "import itertools\nfor i in itertools.count():\n  try: open(f'f{i}','w').close()\n  except OSError: pass"},
        std::pair{"OutputFlood", "import sys\nwhile True: sys.stdout.write('x'*65536)"},
        std::pair{"DescriptorFlood",
                  "import os,socket\nheld=[]\nwhile True:\n  try: held.append(socket.socketpair())\n  except "
                  "OSError:\n    try: os.fork()\n    except OSError: pass"},
        std::pair{"CpuHog", "import os\nfor i in range(50): os.fork() or exec('while True: pass')\nwhile True: pass"}),
    [](const auto& test) { return test.param.first; });

COVE_FOR_EVERYBODY(Limits);

class UsageOf : public ForEverybody {};

TEST_P(UsageOf, IsMeasured) {
  Outcome outcome = cove({"run", "--json", "--", "python3", "-c", R"(
import os, time
if os.fork() == 0:
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
    os._exit(0)
os.wait()
x = bytearray(b'x') * (40 << 20)
open('f', 'wb').write(x[:5 << 20])
)"});
  nlohmann::json usage = result_of(outcome)["usage"];
  EXPECT_GE(usage["cpu_user_ms"].get<int>() + usage["cpu_system_ms"].get<int>(), 200);
  EXPECT_GE(usage["memory_peak_bytes"], 40 << 20);
  EXPECT_GE(usage["disk_written_bytes"], 5 << 20);
  EXPECT_EQ(usage["net_out_bytes"], 0);
}

COVE_FOR_EVERYBODY(UsageOf);

}  // namespace
}  // namespace cove::test
