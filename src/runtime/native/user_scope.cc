#include "runtime/native/user_scope.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::native {
namespace {

constexpr auto kTimeout = std::chrono::seconds(2);

std::string own_groups() { return sys::read_file("/proc/self/cgroup").value_or(std::string()); }

// The same call as systemd-run's, but for a process that is already running.
std::vector<std::string> request(const std::string& pid) {
  return {"busctl",
          "--user",
          "--quiet",
          "call",
          "org.freedesktop.systemd1",
          "/org/freedesktop/systemd1",
          "org.freedesktop.systemd1.Manager",
          "StartTransientUnit",
          "ssa(sv)a(sa(sv))",
          concat("cove-", pid, ".scope"),
          "fail",
          "4",
          "PIDs",
          "au",
          "1",
          pid,
          "Delegate",
          "b",
          "true",
          "CollectMode",
          "s",
          "inactive-or-failed",
          "Description",
          "s",
          "Cove sandboxes",
          "0"};
}

bool ask_systemd() {
  std::vector<std::string> words = request(std::to_string(::getpid()));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 3; ++fd) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = -1;
  int errnum = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (errnum != 0) return false;
  Result<int> status = sys::wait_for(pid);
  return status && *status == 0;
}

bool has_user_bus() {
  const char* folder = ::getenv("XDG_RUNTIME_DIR");
  return ::getenv("DBUS_SESSION_BUS_ADDRESS") || (folder && sys::exists(concat(folder, "/bus")));
}

}  // namespace

bool enter_user_scope() {
  if (!has_user_bus()) return false;
  std::string before = own_groups();
  if (!ask_systemd()) return false;
  // The process is moved shortly after the reply.
  auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (own_groups() == before) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace cove::native
