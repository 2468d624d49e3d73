// The process that serves the networks of sandboxes: who it is, and who has power over it.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>

#include "base/id.h"
#include "base/text.h"
#include "conformance/spawned.h"
#include "spawn/service_users.h"
#include "support/child.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::test {
namespace {

constexpr int kPatience = 20'000;

// A line of /proc/PID/status, its words.
std::vector<std::string> status_of(pid_t pid, const std::string& name) {
  const std::string text = sys::read_file(concat("/proc/", pid, "/status")).value_or("");
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(name + ":")) continue;
    std::vector<std::string> words = split(line.substr(name.size() + 1), '\t');
    std::erase(words, "");
    return words;
  }
  return {};
}

pid_t parent_of(pid_t pid) {
  const std::vector<std::string> words = status_of(pid, "PPid");
  return words.empty() ? -1 : static_cast<pid_t>(parse_integer(words[0], 0, INT32_MAX).value_or(-1));
}

// The gateways that a child of this process has started.
std::set<pid_t> gateways() {
  std::set<pid_t> found;
  const std::vector<std::string> names = sys::list_folder("/proc").value();
  for (const std::string& name : names) {
    const auto pid = static_cast<pid_t>(parse_integer(name, 1, INT32_MAX).value_or(-1));
    if (pid < 0 || status_of(pid, "Name") != std::vector<std::string>{"cove-gateway"}) continue;
    if (parent_of(parent_of(pid)) == ::getpid()) found.insert(pid);
  }
  return found;
}

bool ends(const UniqueFd& process) {
  pollfd polled = {process.get(), POLLIN, 0};
  return ::poll(&polled, 1, kPatience) == 1;
}

class GatewayProcess : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Runtime>> made = make_spawned();
    ASSERT_TRUE(made) << made.error().message();
    runtime_ = std::move(*made);
  }

  // A new one; its pid is known once it has executed its program.
  struct Started {
    pid_t pid = -1;
    UniqueFd process;
    UniqueFd channel;
  };
  Started start() {
    const std::set<pid_t> before = gateways();
    Result<UniqueFd> channel = runtime_->start_gateway();
    if (!channel) throw std::runtime_error(channel.error().message());
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
    while (std::chrono::steady_clock::now() < until)
      for (pid_t pid : gateways())
        if (!before.contains(pid))
          return {pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), std::move(*channel)};
    throw std::runtime_error("no cove-gateway was started");
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(GatewayProcess, HasNoPrivilege) {
  Started gateway = start();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    EXPECT_EQ(status_of(gateway.pid, set), std::vector<std::string>{"0000000000000000"}) << set;
  EXPECT_EQ(status_of(gateway.pid, "NoNewPrivs"), std::vector<std::string>{"1"});
}

TEST_F(GatewayProcess, HasAUserOfItsOwn) {
  COVE_NEEDS_ROOT();
  Started gateway = start();
  const uid_t own = spawn::gateway_user().value().uid;
  EXPECT_NE(own, 0u);
  EXPECT_NE(own, spawn::server_user().uid);
  for (const char* kind : {"Uid", "Gid"}) {
    for (const std::string& id : status_of(gateway.pid, kind)) EXPECT_EQ(id, std::to_string(own)) << kind;
    EXPECT_EQ(status_of(gateway.pid, kind).size(), 4u);
  }
  for (const std::string& group : status_of(gateway.pid, "Groups")) EXPECT_EQ(trim(group), "");
}

TEST_F(GatewayProcess, InheritsNothingButItsChannel) {
  COVE_NEEDS_ROOT();
  const UniqueFd secret(::open("/etc/passwd", O_RDONLY));  // without close-on-exec
  Started gateway = start();
  const std::string folder = concat("/proc/", gateway.pid, "/fd/");
  const std::vector<std::string> names = sys::list_folder(folder).value();
  for (const std::string& name : names) {
    const std::string target = sys::readlink(folder + name).value_or("");
    EXPECT_NE(target, "/etc/passwd");
    EXPECT_EQ(target.find("cgroup"), target.npos) << target;
  }
}

// What a compromised coved could try.
TEST_F(GatewayProcess, IsOutOfReachOfTheServersUser) {
  COVE_NEEDS_ROOT();
  Started gateway = start();
  const pid_t child = ::fork();
  if (child == 0) {
    const uid_t server = spawn::server_user().uid;
    bool became = ::setgroups(0, nullptr) == 0 && ::setresgid(server, server, server) == 0 &&
                  ::setresuid(server, server, server) == 0;
    int reached = became ? 0 : 64;
    if (::kill(gateway.pid, SIGTERM) == 0 || errno != EPERM) reached |= 1;
    if (::ptrace(PTRACE_SEIZE, gateway.pid, 0, 0) == 0 || errno != EPERM) reached |= 2;
    if (::open(concat("/proc/", gateway.pid, "/mem").c_str(), O_RDONLY) >= 0) reached |= 4;
    if (::open(concat("/proc/", gateway.pid, "/fd/3").c_str(), O_RDONLY) >= 0) reached |= 8;
    if (::open(concat("/proc/", gateway.pid, "/environ").c_str(), O_RDONLY) >= 0) reached |= 16;
    if (::syscall(SYS_pidfd_getfd, gateway.process.get(), 3, 0) >= 0) reached |= 32;
    ::_exit(reached);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(GatewayProcess, EndsWithItsChannel) {
  Started gateway = start();
  gateway.channel.reset();
  EXPECT_TRUE(ends(gateway.process));
}

TEST_F(GatewayProcess, EndsWithTheProcessThatStartedIt) {
  Started gateway = start();
  const pid_t spawner = parent_of(gateway.pid);
  ASSERT_GT(spawner, 1);
  ::kill(spawner, SIGKILL);
  EXPECT_TRUE(ends(gateway.process));
}

TEST_F(GatewayProcess, IsOneAtATime) {
  Started first = start();
  Started second = start();
  EXPECT_TRUE(ends(first.process));
  EXPECT_EQ(gateways().count(second.pid), 1u);
}

// Of a user without root, sandboxes have the same id outside.
TEST_F(GatewayProcess, IsNotThereForASandbox) {
  Started gateway = start();
  SandboxSpec spec;
  spec.id = make_id();
  spec.image = "host";
  spec.lifetime = Lifetime::Long;
  spec.limits.disk.value = 64 * kMiB;
  Result<std::unique_ptr<Sandbox>> box = runtime_->create(spec);
  ASSERT_TRUE(box) << box.error().message();
  ExecSpec exec;
  exec.id = make_id();
  exec.user = "root";
  exec.argv = {"/bin/sh", "-c", concat("kill -9 ", gateway.pid, "; test -e /proc/", gateway.pid, " && exit 7; exit 0")};
  Result<Attachment> streams = (*box)->exec(exec);
  ASSERT_TRUE(streams) << streams.error().message();
  pollfd polled = {(*box)->events_fd(), POLLIN, 0};
  std::optional<Event> event;
  while (!event && ::poll(&polled, 1, kPatience) == 1) event = (*box)->next_event().value();
  ASSERT_TRUE(event && std::holds_alternative<ExecEnded>(*event));
  EXPECT_EQ(std::get<ExecEnded>(*event).wait_status, 0);
  EXPECT_TRUE((*box)->destroy(Files::Remove));
  EXPECT_FALSE(::poll(&(polled = {gateway.process.get(), POLLIN, 0}), 1, 0) == 1) << "it was killed";
}

}  // namespace
}  // namespace cove::test
