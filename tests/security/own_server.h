#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/person.h"

namespace cove::test {

// A server of a test's own, as root and as an ordinary user, which the first command starts. What happens inside is
// done by `sh` in a sandbox; the host's part is looked at here.
class OwnServer : public ForEverybody {
 protected:
  using Words = std::vector<std::string>;

  void SetUp() override {
    home_ = folder();
    ASSERT_EQ(::chmod(home_.c_str(), 0711), 0);  // the server's own user, where it is root's, must be able to pass
    options_ = GetParam().options;
    options_.env.push_back("COVE_STATE=" + state());
    for (const char* name : {"COVE_HOST=", "COVE_API_KEY=", "COVE_PROJECT=", "COVE_DIRECT="})
      options_.env.push_back(name);
    make_folder(state());
  }

  void TearDown() override {
    if (server() > 0) {
      cove({"rm", "-f", "box"});
      stop_server();
    }
    for (const std::string& path : others_) std::filesystem::remove_all(path);
    ForEverybody::TearDown();
  }

  // It holds the state folder, and what a test puts there.
  const std::string& home() const { return home_; }
  std::string state() const { return home_ + "/state"; }

  Outcome cove(const Words& args) const { return test::cove(args, options_); }
  std::string inside(const std::string& script) const {
    Outcome outcome = cove({"exec", "-u", "root", "box", "--", "sh", "-c", script});
    EXPECT_EQ(outcome.exit_code, 0) << script << ": " << outcome.out << outcome.err;
    return outcome.out;
  }
  void create(Words options = {}) const {
    options.insert(options.begin(), {"create", "--name", "box"});
    Outcome outcome = cove(options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  void expect_start() const {
    Outcome started = cove({"start", "box"});
    EXPECT_EQ(started.exit_code, 0) << started.err;
    EXPECT_EQ(inside("echo runs"), "runs\n");
  }
  void start_again() const {
    ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
    expect_start();
  }
  // Of the sandbox and of the server.
  void start_all_again() const {
    ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
    stop_server();
    expect_start();
  }

  void make_folder(const std::string& path) const {
    std::filesystem::create_directories(path);
    give(path);
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(path) << text;
    give(path);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A folder outside of /tmp, which the builder of a sandbox covers; and how a link in a sandbox's layer can name it.
  std::string make_victim() {
    std::string path = "/var/tmp/cove-victim-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    EXPECT_EQ(::chmod(path.c_str(), 0777), 0);
    give(path);
    others_.push_back(path);
    return path;
  }
  std::string seen_by_builder(const std::string& path) const { return rootless() ? path : "/proc/1/root" + path; }

  void give(const std::string& path) const {
    const uid_t owner = options_.uid.value_or(0);
    EXPECT_EQ(::lchown(path.c_str(), owner, owner), 0) << path;
  }

  void stop_server() const {
    const pid_t pid = server();
    ASSERT_GT(pid, 0);
    int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    ::kill(pid, SIGTERM);
    pollfd polled = {process, POLLIN, 0};
    EXPECT_GT(::poll(&polled, 1, 30'000), 0) << "the server does not end";
    ::close(process);
  }

 private:
  // The process that listens at the server's socket; -1 where there is none.
  pid_t server() const {
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    (state() + "/run/api.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    ucred peer = {};
    socklen_t size = sizeof peer;
    const bool there = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                       ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    ::close(fd);
    return there ? peer.pid : -1;
  }

  std::string home_;
  std::vector<std::string> others_;
  ChildOptions options_;
};

}  // namespace cove::test
