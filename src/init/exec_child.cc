#include "init/exec_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cove::init {
namespace {

using wire::Stage;

bool join_groups(const ChildPlan& plan) {
  const std::string self = plan.joins_by_number ? std::to_string(::getpid()) : "0";
  for (int fd : plan.join_fds)
    if (::write(fd, self.data(), self.size()) != static_cast<ssize_t>(self.size())) return false;
  return true;
}

bool connect_stdio(const ChildPlan& plan) {
  if (plan.terminal >= 0) {
    if (::ioctl(plan.terminal, TIOCSCTTY, 0) < 0) return false;
    for (int fd = 0; fd < 3; ++fd)
      if (::dup2(plan.terminal, fd) < 0) return false;
    return true;
  }
  // The sources are above 2 (process 1 keeps 0 to 2 open on /dev/null), so none is overwritten before it is copied.
  for (int fd = 0; fd < 3; ++fd)
    if (::dup2(plan.stdio[fd], fd) < 0) return false;
  return true;
}

// gVisor's /dev/tty cannot be opened. It is replaced by the terminal in a mount namespace of the program.
bool replace_tty() {
  char path[64] = {};
  if (::readlink("/proc/self/fd/0", path, sizeof path - 1) <= 0) return false;
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(path, "/dev/tty", nullptr, MS_BIND, nullptr) == 0;
}

// Signals the terminal's foreground process group, which this kernel reveals only to members of its session. The
// terminal is opened for each signal: while it is open, the other end does not notice that all others have closed it.
[[noreturn]] void pass_on_keys(int keys, const char* terminal) {
  char number = 0;
  while (::read(keys, &number, 1) == 1) {
    const int fd = ::open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC);
    const pid_t foreground = ::tcgetpgrp(fd);
    if (foreground > 1) ::kill(-foreground, number);
    ::close(fd);
  }
  ::_exit(0);
}

// A member of the program's session, but not its child.
bool start_key_watcher(int keys) {
  char path[64] = {};
  if (::readlink("/proc/self/fd/0", path, sizeof path - 1) <= 0) return false;
  const pid_t pid = ::fork();
  if (pid != 0) return pid > 0 && ::waitpid(pid, nullptr, 0) == pid;
  if (::fork() != 0) ::_exit(0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setpgid(0, 0);
  if (::dup2(keys, 0) < 0) ::_exit(1);
  ::syscall(SYS_close_range, 1, kLastFd, 0);
  pass_on_keys(0, path);
}

bool set_rlimits(const std::vector<wire::Rlimit>& limits) {
  for (const wire::Rlimit& limit : limits) {
    struct rlimit current;
    auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    if (::getrlimit(resource, &current) < 0) return false;
    // Hard limits can only be lowered here.
    struct rlimit wanted;
    wanted.rlim_max = std::min<rlim_t>(limit.hard, current.rlim_max);
    wanted.rlim_cur = std::min<rlim_t>(limit.soft, wanted.rlim_max);
    if (::setrlimit(resource, &wanted) < 0) return false;
  }
  return true;
}

// Process 1 has all signals at their defaults and only blocks some.
void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool write_text(const char* path, const char* text, size_t size) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool ok = ::write(fd, text, size) == static_cast<ssize_t>(size);
  ::close(fd);
  return ok;
}

// With only one mapped id, another user is emulated in a user namespace of the program. To write its maps this process
// must be dumpable for a moment, and so accessible to its siblings; it has no privilege by then.
bool play_user(const User& user) {
  auto current = static_cast<unsigned>(::getuid());
  if (current == user.uid) return true;
  auto group = static_cast<unsigned>(::getgid());
  if (no_new_privileges() < 0 || apply_seccomp(Nesting::Allowed) < 0 || set_capabilities(0) < 0) return false;
  if (::unshare(CLONE_NEWUSER) < 0 || ::prctl(PR_SET_DUMPABLE, 1) < 0) return false;
  char line[64];
  auto size = static_cast<size_t>(::snprintf(line, sizeof line, "%u %u 1", user.uid, current));
  if (!write_text("/proc/self/uid_map", line, size) || !write_text("/proc/self/setgroups", "deny", 4)) return false;
  size = static_cast<size_t>(::snprintf(line, sizeof line, "%u %u 1", user.gid, group));
  return write_text("/proc/self/gid_map", line, size);
}

bool set_identity(const User& user) {
  // Raw system calls, because the C library's would synchronize with other threads.
  std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0 &&
         ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

bool enter_folder(const ChildPlan& plan) {
  if (!plan.request.cwd.empty()) return ::chdir(plan.request.cwd.c_str()) == 0;
  return ::chdir(plan.user.home.c_str()) == 0 || ::chdir("/") == 0;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

void execute(const wire::ExecRequest& request, const User& user) {
  std::vector<std::string> environment = complete_environment(request, user);
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> env = pointers(environment);
  environ = env.data();  // the program is searched on the sandbox's PATH
  ::execvp(argv[0], argv.data());
}

// Closes all descriptors of process 1 except those for the report and for a later command, which move to the lowest
// numbers.
bool close_others(int& report, int& command) {
  constexpr int kReport = 3;
  constexpr int kCommand = 4;
  constexpr int kHigh = 16;
  int high = command < 0 ? -1 : ::fcntl(command, F_DUPFD_CLOEXEC, kHigh);
  if (report != kReport && ::dup3(report, kReport, O_CLOEXEC) < 0) return false;
  report = kReport;
  if (command >= 0 && ::dup3(high, kCommand, O_CLOEXEC) < 0) return false;
  command = command < 0 ? -1 : kCommand;
  return ::syscall(SYS_close_range, command < 0 ? kReport + 1 : kCommand + 1, kLastFd, 0) == 0;
}

// Looks up files that most programs open first: in a new sandbox each lookup goes through all of its layers.
void open_common_files() {
  constexpr const char* kUsual[] = {
      "/usr/local/sbin",
      "/usr/local/bin",
      "/usr/sbin",
      "/bin/sh",
      "/etc/ld.so.cache",
#if defined(__x86_64__)
      "/lib64/ld-linux-x86-64.so.2",
      "/lib/x86_64-linux-gnu/libc.so.6",
#elif defined(__aarch64__)
      "/lib/ld-linux-aarch64.so.1",
      "/lib/aarch64-linux-gnu/libc.so.6",
#endif
  };
  for (const char* path : kUsual) static_cast<void>(::access(path, F_OK));
}

// Waits for the command; false if none arrives. Files it may need are looked up before, while no caller is waiting.
bool read_command(int from, wire::ExecRequest& request) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);  // like process 1's own
  // Most commands are short: untouched memory is not allocated.
  std::string text;
  char piece[4096];
  for (ssize_t count; (count = ::read(from, piece, sizeof piece)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || text.size() > wire::kMaxMessage) return false;
    text.append(piece, static_cast<size_t>(count));
  }
  wire::Reader in(text);
  const bool input = in.number() != 0;
  request.argv = in.texts();
  request.env = in.texts();
  if (!in.done() || request.argv.empty()) return false;
  if (input) return true;
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) == STDIN_FILENO;
}

// Performs the steps of the child in order; returns the step that failed.
Stage run_steps(const ChildPlan& plan, int& report) {
  if (!join_groups(plan)) return Stage::JoinGroup;
  if (plan.network >= 0 && ::setns(plan.network, CLONE_NEWNET) < 0) return Stage::Network;
  if (plan.bare_network && ::unshare(CLONE_NEWNET) < 0) return Stage::Network;
  unblock_signals();
  int command = plan.command;
  if (::setsid() < 0 || !connect_stdio(plan)) return Stage::Terminal;
  if (plan.keys >= 0 && !start_key_watcher(plan.keys)) return Stage::Terminal;
  if (!close_others(report, command)) return Stage::Terminal;
  if (plan.own_tty && !replace_tty()) return Stage::Terminal;
  if (!set_rlimits(plan.request.rlimits)) return Stage::Rlimit;
  ::umask(022);
  FenceOutcome fences = become(plan.user, plan.filters, plan.single_id);
  if (!fences.ok) return fences.stage;
  if (!enter_folder(plan)) return Stage::Folder;
  if (command < 0) {
    execute(plan.request, plan.user);
    return Stage::Execute;
  }
  open_common_files();
  wire::ExecRequest request = plan.request;
  if (!read_command(command, request)) ::_exit(0);  // it is no longer needed
  execute(request, plan.user);
  return Stage::Execute;
}

}  // namespace

FenceOutcome become(const User& user, const Filters& filters, bool single_id) {
  const uint64_t kept = user.uid == 0 ? root_capabilities() : 0;
  if (single_id && !play_user(user)) return {false, Stage::Identity};
  // Process 1 has only these; a user namespace of the program has all.
  const int limited = single_id ? limit_bounding_set(kept) : limit_bounding_set(kept, root_capabilities());
  if (limited < 0) return {false, Stage::Fence};
  if (!single_id && !set_identity(user)) return {false, Stage::Identity};
  if (set_capabilities(kept) < 0) return {false, Stage::Fence};
  const bool each = single_id || filters.kernel == Kernel::Own;
  if (each && apply_filters(filters) < 0) return {false, Stage::Fence};
  return {true, Stage::Fence};
}

std::vector<std::string> complete_environment(const wire::ExecRequest& request, const User& user) {
  std::vector<std::string> environment = request.env;
  auto fill = [&](std::string name, const std::string& value) {
    name += '=';
    for (const std::string& entry : environment)
      if (entry.starts_with(name)) return;
    environment.push_back(name + value);
  };
  fill("HOME", user.home);
  fill("USER", user.name);
  fill("LOGNAME", user.name);
  fill("SHELL", user.shell);
  return environment;
}

pid_t start_child(const ChildPlan& plan, UniqueFd& report) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return -1;
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    int to_parent = writer.release();
    StartFailure failure = {run_steps(plan, to_parent), errno};
    static_cast<void>(!::write(to_parent, &failure, sizeof failure));
    ::_exit(127);
  }
  report = std::move(reader);
  return pid;
}

}  // namespace cove::init
