#include "support/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/child.h"

namespace cove::test {
namespace {

constexpr int kStartPatience = 60'000;  // milliseconds

}  // namespace

ServerUnderTest::ServerUnderTest(std::vector<std::string> args) {
  char folder[] = "/tmp/cove-server-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return;
  folder_ = folder;
  words_ = {build_folder() + "/cove",        "serve",    "--state",        folder_ + "/state", "--listen",
            "unix:" + folder_ + "/api.sock", "--listen", "tcp:127.0.0.1:0"};
  words_.insert(words_.end(), args.begin(), args.end());
  start_again();
}

void ServerUnderTest::start_again(const std::string& crash_at) {
  said_.clear();
  socket_ = {};
  tcp_ = {};
  start(crash_at);
  read_addresses();
}

void ServerUnderTest::start(const std::string& crash_at) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) < 0) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    std::vector<char*> argv;
    if (!crash_at.empty()) ::setenv("COVE_CRASH_AT", crash_at.c_str(), 1);
    for (const std::string& word : words_) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(99);
  }
  ::close(pipe[1]);
  errors_.reset(pipe[0]);
}

// "cove: serving at unix:/tmp/…/api.sock, tcp:127.0.0.1:40123"
void ServerUnderTest::read_addresses() {
  pollfd polled = {errors_.get(), POLLIN, 0};
  size_t line = std::string::npos;
  while ((line = said_.find("cove: serving at ")) == std::string::npos || said_.find('\n', line) == std::string::npos) {
    char data[4096];
    if (::poll(&polled, 1, kStartPatience) <= 0) return;
    ssize_t count = ::read(errors_.get(), data, sizeof data);
    if (count <= 0) return;
    said_.append(data, static_cast<size_t>(count));
  }
  socket_.path = folder_ + "/api.sock";
  size_t port = said_.find("tcp:127.0.0.1:", line);
  if (port != std::string::npos) tcp_.port = static_cast<uint16_t>(std::stoi(said_.substr(port + 14)));
  // Whatever it says from now on must not fill the pipe.
  ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(errors_.get(), F_SETPIPE_SZ, 1 << 20);
}

void ServerUnderTest::delete_sandboxes() {
  auto list = fetch(socket_, {"GET", "/v1/sandboxes?limit=1000", {}, ""}).json();
  if (!list.is_object() || !list.contains("items")) return;
  for (const auto& sandbox : list["items"])
    fetch(socket_, {"DELETE", "/v1/sandboxes/" + sandbox["id"].get<std::string>(), {}, ""});
}

void ServerUnderTest::wait() {
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

// coved is a child of the process that was started; it would end with it, but not at once.
void ServerUnderTest::kill() {
  if (pid_ < 0) return;
  std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
  std::vector<pid_t> pids = {pid_};
  for (pid_t child; children >> child;) {
    std::string name;
    if (std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name; name == "coved") pids.push_back(child);
  }
  for (pid_t pid : pids) ::kill(pid, SIGKILL);
  wait();
}

int ServerUnderTest::stop() {
  if (pid_ < 0) return -1;
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ServerUnderTest::~ServerUnderTest() {
  if (pid_ > 0 && running()) delete_sandboxes();
  stop();
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

}  // namespace cove::test
