// The builders of cove-spawn, which stay for the next sandbox: what they hold, and what their death does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "support/server.h"
#include "sys/file.h"

namespace cove::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

std::string of_process(pid_t pid, const std::string& file) {
  return sys::read_file("/proc/" + std::to_string(pid) + "/" + file).value_or("");
}

class Builders : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root's builders stay";
    ASSERT_TRUE(server_.running()) << server_.said();
    first_ = make();
  }

  HttpResponse call(const std::string& method, const std::string& target, const json& body = json::object()) {
    return fetch(server_.socket(), {method, target, {{"content-type", "application/json"}}, body.dump()});
  }
  std::string make() {
    HttpResponse response = call("POST", "/v1/sandboxes");
    EXPECT_EQ(response.status, 201) << response.body;
    wait_for_rest();
    return response.json().value("id", "none");
  }
  // A sandbox may stand before its builder is back.
  void wait_for_rest() {
    auto place = [](pid_t pid) { return sys::readlink("/proc/" + std::to_string(pid) + "/ns/mnt").value_or("gone"); };
    auto is_back = [&](pid_t pid) { return place(pid) == place(server_.pid()) && count_descriptors(pid) == 7; };
    for (int i = 0; i < 1000 && !std::ranges::all_of(builders(), is_back); ++i) ::usleep(5'000);
  }
  static long count_descriptors(pid_t pid) {
    std::error_code error;
    std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd", error);
    return error ? 0 : std::distance(begin(entries), end(entries));
  }
  std::string output(const std::string& id, const std::string& shell) {
    HttpResponse response = call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", {{"shell", shell}});
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json()["stdout"].value("text", "");
  }
  // Children of cove-spawn, by what they are called: builders as itself, and process 1 at first, which is in a process
  // namespace of its own.
  std::vector<pid_t> children(const std::string& name) {
    std::istringstream pids(of_process(server_.pid(), "task/" + std::to_string(server_.pid()) + "/children"));
    std::vector<pid_t> found;
    for (pid_t pid; pids >> pid;)
      if (of_process(pid, "comm") == name + "\n") found.push_back(pid);
    return found;
  }
  std::vector<pid_t> builders() {
    std::vector<pid_t> found = children("cove-spawn");
    std::erase_if(found, [](pid_t pid) { return depth_of(pid) != 1; });
    return found;
  }
  // How many process namespaces it is in; 0 where it is gone.
  static long depth_of(pid_t pid) {
    std::istringstream status(of_process(pid, "status"));
    std::string line;
    while (std::getline(status, line) && !line.starts_with("NSpid:")) {
    }
    return std::ranges::count(line, '\t');
  }

  ServerUnderTest server_{{"--pool-size", "0"}};
  std::string first_;  // a sandbox
};

TEST_F(Builders, StayForTheNextSandbox) {
  const std::vector<pid_t> first = builders();
  ASSERT_FALSE(first.empty());
  for (int i = 0; i < 5; ++i) make();
  EXPECT_EQ(builders(), first);
}

TEST_F(Builders, HoldNothingOfTheServersOrOfASandbox) {
  for (int i = 0; i < 3; ++i) make();
  ASSERT_FALSE(builders().empty());
  const std::string folder = "/proc/" + std::to_string(builders()[0]);
  std::multiset<std::string> held;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd")) {
    const std::string what = sys::readlink(entry.path()).value_or("");
    held.insert(what.substr(0, what.find(':')));
  }
  EXPECT_EQ(held, (std::multiset<std::string>{"/dev/null", "/dev/null", "/dev/null", "mnt", "mnt", "pid", "socket"}));
  // It is back where it came from.
  for (const char* name : {"/root", "/cwd"}) EXPECT_EQ(sys::readlink(folder + name).value_or("none"), "/");
  for (const char* name : {"/ns/mnt", "/ns/pid", "/ns/pid_for_children"})
    EXPECT_EQ(sys::readlink(folder + name).value_or("none"),
              sys::readlink("/proc/" + std::to_string(server_.pid()) + name).value_or("other"))
        << name;
  EXPECT_THAT(of_process(builders()[0], "status"), HasSubstr("Uid:\t0\t0\t0\t0\n"));
}

// Nothing of the sandboxes before is in the next: no mount more, no process namespace around its own.
TEST_F(Builders, BuildTheTenthAsTheFirst) {
  const std::string look = "cut -d' ' -f5- /proc/self/mountinfo | sed 's/l[0-9]*=[^,]*//g; s,/long/[a-z0-9]*,,g'";
  const std::string first = output(make(), look);
  std::string last;
  for (int i = 0; i < 9; ++i) last = make();
  EXPECT_THAT(first, HasSubstr("/proc/sys"));
  EXPECT_EQ(output(last, look + " | wc -l"), std::to_string(std::ranges::count(first, '\n')) + "\n");
  for (pid_t process_1 : children("cove-init")) EXPECT_EQ(depth_of(process_1), 2);
}

TEST_F(Builders, AreReplacedWhenTheyDie) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(builders().empty());
    for (pid_t builder : builders()) ::kill(builder, SIGKILL);
    for (int j = 0; j < 1000 && !builders().empty(); ++j) ::usleep(5'000);
    EXPECT_EQ(output(make(), "echo well"), "well\n");
  }
}

TEST_F(Builders, EndWithTheServer) {
  std::vector<UniqueFd> watched;
  for (pid_t builder : builders()) watched.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, builder, 0)));
  ASSERT_FALSE(watched.empty());
  server_.kill();
  for (const UniqueFd& builder : watched) {
    pollfd polled = {builder.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&polled, 1, 10'000), 1);
  }
  server_.start_again();
  ASSERT_TRUE(server_.running()) << server_.said();
}

// Killed at any moment of its work: the sandbox is there, or its maker is told that it is not and nothing is left.
TEST_F(Builders, LoseNothingWhenTheyAreKilledAtWork) {
  int made = 0, failed = 0;
  for (int i = 0; i < 400 && (made < 10 || failed < 5); ++i) {
    const std::vector<pid_t> there = builders();
    std::thread killer([&, delay = static_cast<useconds_t>(i % 40) * 100] {
      ::usleep(delay);
      for (pid_t builder : there) ::kill(builder, SIGKILL);
    });
    HttpResponse response = call("POST", "/v1/sandboxes");
    killer.join();
    if (response.status != 201) {
      EXPECT_GE(response.status, 500) << response.body;
      ++failed;
      continue;
    }
    const std::string id = response.json()["id"];
    EXPECT_EQ(output(id, "echo well"), "well\n");
    EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204);
    ++made;
  }
  EXPECT_GE(made, 10);
  EXPECT_GE(failed, 5);
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + first_).status, 204);
  for (int i = 0; i < 500 && !children("cove-init").empty(); ++i) ::usleep(10'000);
  EXPECT_THAT(children("cove-init"), SizeIs(0));
}

// Most machines pass on to all mount namespaces what is mounted in one of them.
TEST(BuildersOnSharedMounts, MountNothingOutsideOfTheSandbox) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root's builders stay";
  const pid_t child = ::fork();
  if (child == 0) {
    bool apart = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_SHARED, nullptr) == 0;
    {
      ServerUnderTest server({"--pool-size", "0"});
      auto call = [&](const std::string& method, const std::string& target, const json& body) {
        return fetch(server.socket(), {method, target, {{"content-type", "application/json"}}, body.dump()});
      };
      std::string before;
      for (int i = 0; i < 3; ++i) {
        const std::string id = call("POST", "/v1/sandboxes", json::object()).json().value("id", "none");
        json end =
            call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", {{"shell", "cat /proc/self/mountinfo"}}).json();
        const std::string inside = end["stdout"].value("text", "shared:");
        apart = apart && inside.find("shared:") == std::string::npos && inside.find("master:") == std::string::npos;
        call("DELETE", "/v1/sandboxes/" + id, json::object());
        // The pool is made with the first.
        const std::string now = of_process(::getpid(), "mountinfo");
        apart = apart && (i == 0 || now == before);
        before = now;
      }
    }
    ::_exit(apart ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cove::test
