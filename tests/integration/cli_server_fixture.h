#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "support/person.h"

// The command line with a server of its own, as a user meets it.
namespace cove::test {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

inline std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

// The process that listens at a socket; -1 where nobody does.
inline pid_t listener_of(const std::string& path) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ucred peer = {};
  socklen_t size = sizeof peer;
  bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                   ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  ::close(fd);
  return connected ? peer.pid : -1;
}

// Whoever adopted it may be slow to reap it.
inline void wait_for_end(pid_t pid) {
  int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0 && errno == ESRCH) return;
  pollfd polled = {process, POLLIN, 0};
  EXPECT_GT(::poll(&polled, 1, 30'000), 0) << "the server does not end";
  ::close(process);
}

template <typename Condition>
bool comes_true(Condition condition, std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Each test has a state folder of its own, and so a server of its own, which its first command starts.
class CliServer : public ForEverybody {
 protected:
  CliServer() : state_(folder()), options_(GetParam().options) {
    // The server's own user, where it is root's, must be able to pass.
    EXPECT_EQ(::chmod(state_.c_str(), 0711), 0);
    options_.env.push_back("COVE_STATE=" + state_);
    for (const char* name : {"COVE_HOST=", "COVE_API_KEY=", "COVE_PROJECT=", "COVE_DIRECT="})
      options_.env.push_back(name);
  }

  void TearDown() override {
    if (pid_t server = listener_of(socket()); server > 0) {
      std::string left = cove({"ls", "-aq"}).out;
      Words words = {"rm", "-f"};
      for (size_t at = 0; at < left.size(); at += 21) words.push_back(left.substr(at, 20));
      if (words.size() > 2) cove(words);
      ::kill(server, SIGTERM);
      wait_for_end(server);
    }
    ForEverybody::TearDown();
  }

  std::string socket() const { return state_ + "/run/api.sock"; }
  std::string log() const { return read(state_ + "/server.log"); }

  Outcome cove(const Words& args, const std::string& input = {}) const { return cove_with(args, {}, input); }
  Outcome run_plainly(const Words& words, const std::string& input);
  Outcome cove_with(const Words& args, const Words& env, const std::string& input = {}) const {
    ChildOptions options = options_;
    options.input = input;
    options.env.insert(options.env.end(), env.begin(), env.end());
    return test::cove(args, options);
  }
  Json json(Words args) const {
    args.push_back("--json");
    Outcome outcome = cove(args);
    Json value = Json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(value.is_discarded()) << outcome.out << outcome.err;
    return value;
  }
  // A sandbox with this name.
  void make(const std::string& name, Words options = {}) const {
    options.insert(options.begin(), {"create", "--name", name});
    Outcome outcome = cove(options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(outcome.out.size(), 21u) << outcome.out;
  }
  // What needs control groups or a pool: an ordinary user may have none, and is told so.
  bool succeeds_with_groups(const Words& args) const {
    Outcome outcome = cove(args);
    const bool lacks_groups = has(outcome.err, "requires control groups, and this user cannot create any");
    const bool lacks_pool = has(outcome.err, "a pool is required, and only root can create one");
    EXPECT_TRUE(outcome.exit_code == 0 || (GetParam().options.uid && (lacks_groups || lacks_pool))) << outcome.err;
    return outcome.exit_code == 0;
  }
  void own(const std::string& path) const {
    if (!GetParam().options.uid) return;
    ASSERT_EQ(::lchown(path.c_str(), *GetParam().options.uid, *GetParam().options.uid), 0) << path;
  }

  // A command under way, at pipes or at a terminal.
  struct Running {
    pid_t pid = -1;
    int out = -1;
    ~Running() {
      if (out >= 0) ::close(out);
    }
    std::string wait_for(const std::string& text) {
      std::string seen;
      char data[4096];
      while (!has(seen, text)) {
        ssize_t size = ::read(out, data, sizeof data);
        if (size <= 0) break;
        seen.append(data, static_cast<size_t>(size));
      }
      EXPECT_TRUE(has(seen, text)) << seen;
      return seen;
    }
    std::string rest() {
      std::string seen;
      char data[4096];
      for (ssize_t size; (size = ::read(out, data, sizeof data)) > 0;) seen.append(data, static_cast<size_t>(size));
      return seen;
    }
    void type(const std::string& text) {
      EXPECT_EQ(::write(out, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    int wait() {
      int status = 0;
      ::waitpid(pid, &status, 0);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  };

  enum class At { Pipe, Terminal };
  std::unique_ptr<Running> start(const Words& args, At at) const {
    auto running = std::make_unique<Running>();
    int ends[2] = {-1, -1};
    winsize size = {40, 120, 0, 0};
    if (at == At::Pipe && ::pipe2(ends, O_CLOEXEC) < 0) ::abort();
    running->pid = at == At::Terminal ? ::forkpty(&running->out, nullptr, nullptr, &size) : ::fork();
    if (running->pid == 0) {
      if (at == At::Pipe) {
        ::dup2(::open("/dev/null", O_RDONLY), 0);
        ::dup2(ends[1], 1);
      }
      for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
      for (const std::string& entry : options_.env) ::putenv(const_cast<char*>(entry.c_str()));
      if (options_.uid && (::setresgid(*options_.uid, *options_.uid, *options_.uid) < 0 ||
                           ::setresuid(*options_.uid, *options_.uid, *options_.uid) < 0))
        ::_exit(98);
      std::string program = build_folder() + "/cove";
      std::vector<char*> words = {program.data()};
      for (const std::string& word : args) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::execv(words[0], words.data());
      ::_exit(99);
    }
    if (at == At::Pipe) {
      ::close(ends[1]);
      running->out = ends[0];
    }
    return running;
  }

  std::string state_;
  ChildOptions options_;
};

}  // namespace cove::test
