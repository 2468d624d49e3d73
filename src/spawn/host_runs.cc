#include "spawn/host_runs.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "runtime/native/own_folders.h"
#include "runtime/native/same_folder.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

using native::is_same_folder;
using native::OwnFolders;

constexpr size_t kMostRuns = 64;
constexpr size_t kFds = 3;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr int kNotRun = 125;
// The descriptors that cove-host expects.
constexpr int kWorkspaceFd = 3;
constexpr const char* kOtherFolder = " is not the folder that was recorded";
constexpr int kVerdictFd = 4;
// A limit for cove-record if the caller does not end it before.
constexpr unsigned kRecordSeconds = 90;
constexpr rlim_t kRecordMemory = rlim_t{1} << 30;

struct Account {
  std::string name;
  std::string home = "/";
};

Account account_of(uid_t uid) {
  for (const std::string& line : split(sys::read_file("/etc/passwd").value_or(""), '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 5 && fields[2] == std::to_string(uid)) return {fields[0], fields[5]};
  }
  return {};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// --- in the child ----------------------------------------------------------------------------------------------------

[[noreturn]] void give_up(int errors, const std::string& what, int code) {
  static_cast<void>(sys::write_all(errors, concat("cove: ", what, ": ", std::string_view(std::strerror(errno)), "\n")));
  ::_exit(code);
}

void become(const UserCredentials& user, pid_t parent, int errors) {
  ::setsid();
  if (!assume_identity(user)) give_up(errors, "assume the caller's identity", kNotRun);
  // Ends this process with cove-spawn, and so with coved. Set after the change of identity, which would clear it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotRun);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::umask(022);
}

// Moves descriptors to their target numbers, from any current numbers, and closes all others.
void arrange(std::vector<int> wanted, int errors) {
  for (int& fd : wanted)
    if ((fd = ::fcntl(fd, F_DUPFD, static_cast<int>(wanted.size()))) < 0) give_up(errors, "dup", kNotRun);
  for (size_t i = 0; i < wanted.size(); ++i) ::dup2(wanted[i], static_cast<int>(i));
  ::syscall(SYS_close_range, static_cast<unsigned>(wanted.size()), ~0u, 0);
}

// Why a command must not run on the host; empty if it may.
std::string why_not(const HostRunOrder& order, int workspace, const Result<OwnFolders>& own) {
  if (!is_same_folder(workspace, order.device, order.inode)) return concat(order.workspace, kOtherFolder);
  // Its contents cannot be hidden from a command on the host, as they are in a sandbox.
  const Workspace shown{.path = order.workspace, .access = Access::ReadWrite};
  Result<void> checked = own ? own->check(workspace, shown) : std::unexpected(own.error());
  return checked ? "" : checked.error().message();
}

[[noreturn]] void run_fenced(const HostRunOrder& order, const Result<OwnFolders>& own, int program, int output,
                             int errors, int verdict) {
  int workspace = ::open(order.workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (workspace < 0 || null < 0) give_up(errors, concat("open ", order.workspace), kNotRun);
  if (std::string why = why_not(order, workspace, own); !why.empty()) {
    ::dprintf(verdict, "no %s", why.c_str());
    ::_exit(kNotRun);
  }
  std::vector<std::string> words = {"cove-host", "--judge", "--report", std::to_string(kVerdictFd)};
  if (!order.cwd.empty()) words.insert(words.end(), {"--cwd", order.cwd});
  words.insert(words.end(), {"--seen-at", kWorkspacePath});
  if (!order.shell.empty()) words.insert(words.end(), {"--shell", order.shell});
  words.push_back("--");  // the command may start like an option of cove-host
  words.insert(words.end(), order.argv.begin(), order.argv.end());
  arrange({null, output, errors, workspace, verdict, program}, errors);
  ::fcntl(kVerdictFd + 1, F_SETFD, FD_CLOEXEC);
  std::vector<char*> argv = pointers(words);
  char* const none[] = {nullptr};
  ::syscall(SYS_execveat, kVerdictFd + 1, "", argv.data(), none, AT_EMPTY_PATH);
  give_up(2, "execute cove-host", kNotRun);
}

void bound_record() {
  ::alarm(kRecordSeconds);  // survives execve
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const struct rlimit memory = {kRecordMemory, kRecordMemory};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
}

[[noreturn]] void execute_record(int program, int folder, int output, int errors) {
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) give_up(errors, "open /dev/null", kNotRun);
  arrange({null, output, errors, folder, program}, errors);
  ::fcntl(kWorkspaceFd + 1, F_SETFD, FD_CLOEXEC);
  bound_record();
  char name[] = "cove-record";
  char* const argv[] = {name, nullptr};
  char* const none[] = {nullptr};
  ::syscall(SYS_execveat, kWorkspaceFd + 1, "", argv, none, AT_EMPTY_PATH);
  give_up(2, "execute cove-record", kNotRun);
}

[[noreturn]] void run_plain(const HostRunOrder& order, const UserCredentials& user, int input, int output, int errors) {
  Account account = account_of(user.uid);
  if (order.inode != 0) {
    int workspace = ::open(order.workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (workspace < 0) give_up(errors, concat("open ", order.workspace), kCannotExecute);
    if (!is_same_folder(workspace, order.device, order.inode)) {
      ::dprintf(errors, "%s%s\n", order.workspace.c_str(), kOtherFolder);
      ::_exit(kCannotExecute);
    }
  }
  const std::string& folder = !order.cwd.empty()         ? order.cwd
                              : !order.workspace.empty() ? order.workspace
                                                         : account.home;
  if (::chdir(folder.c_str()) < 0) give_up(errors, concat("chdir ", folder), kCannotExecute);
  std::vector<std::string> variables = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                        "HOME=" + account.home, "USER=" + account.name, "LOGNAME=" + account.name,
                                        "LANG=C.UTF-8"};
  for (const auto& [name, value] : order.env) {
    std::erase_if(variables, [&](const std::string& line) { return line.starts_with(name + "="); });
    variables.push_back(concat(name, "=", value));
  }
  std::vector<std::string> words = order.argv;
  if (words.empty()) words = {"/bin/sh", "-c", order.shell};
  arrange({input, output, errors}, errors);
  std::vector<char*> argv = pointers(words);
  std::vector<char*> env = pointers(variables);
  ::execvpe(argv[0], argv.data(), env.data());
  give_up(2, concat("execute ", words[0]), errno == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace

Result<void> HostRuns::check_room(const std::string& id) const {
  if (std::ranges::any_of(runs_, [&](const Run& run) { return run.id == id; }))
    return fail(Code::Exists, concat("run ", id, " exists already"));
  if (runs_.size() >= kMostRuns)
    return fail(Code::Exhausted, concat(kMostRuns, " commands are already running on the host"));
  return {};
}

Result<void> HostRuns::record(uint64_t token, const std::string& id, const UserCredentials& user, int folder,
                              std::vector<UniqueFd> fds) {
  COVE_TRY(check_room(id));
  UniqueFd program = COVE_TRY(sys::open(rules_.programs + "/cove-record", O_RDONLY));
  const pid_t parent = ::getpid();
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    become(user, parent, fds[1].get());
    execute_record(program.get(), folder, fds[0].get(), fds[1].get());
  }
  runs_.push_back({id, token, std::move(child)});
  return {};
}

Result<void> HostRuns::start(uint64_t token, const std::string& id, const HostRunOrder& order,
                             const UserCredentials& user, std::vector<UniqueFd> fds) {
  if (fds.size() != kFds) return fail(Code::Invalid, "the request has too few descriptors");
  if (order.fence == HostFence::None && !rules_.allow_off)
    return fail(Error(Code::Denied, "mode 'off' is not allowed on this server")
                    .hint("use mode 'all', or ask the administrator to set modes.allow_off"));
  COVE_TRY(check_room(id));
  if (::geteuid() != 0 && user.uid != ::geteuid()) return fail(Code::Denied, "this server belongs to another user");
  UniqueFd program;
  if (order.fence == HostFence::Reading) program = COVE_TRY(sys::open(rules_.programs + "/cove-host", O_RDONLY));
  const pid_t parent = ::getpid();
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    int output = fds[0].get(), errors = fds[1].get(), third = fds[2].get();
    Result<OwnFolders> own =
        OwnFolders::look(rules_.own_folders);  // located with root's rights: the caller may not have access to them
    become(user, parent, errors);
    if (order.fence == HostFence::Reading) run_fenced(order, own, program.get(), output, errors, third);
    run_plain(order, user, third, output, errors);
  }
  runs_.push_back({id, token, std::move(child)});
  return {};
}

void HostRuns::kill(const std::string& id) {
  for (const Run& run : runs_) {
    if (run.id != id) continue;
    // Until it has created its own session, only the process itself exists.
    ::kill(-run.child.pid, SIGKILL);
    static_cast<void>(sys::kill_by_pidfd(run.child.pidfd.get(), SIGKILL));
  }
}

void HostRuns::poll_for(std::vector<pollfd>& polled) const {
  for (const Run& run : runs_) polled.push_back({run.child.pidfd.get(), POLLIN, 0});
}

HostRuns::Ended HostRuns::take(pid_t pid, int status, const struct rusage& usage) {
  auto found = std::ranges::find_if(runs_, [&](const Run& run) { return run.child.pid == pid; });
  if (found == runs_.end()) return {};
  auto milliseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec * 1000 + time.tv_usec / 1000);
  };
  Ended ended;
  ended.token = found->token;
  ended.end.wait_status = status;
  ended.end.usage.cpu_user_ms = milliseconds(usage.ru_utime);
  ended.end.usage.cpu_system_ms = milliseconds(usage.ru_stime);
  ended.end.usage.memory_peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  runs_.erase(found);
  return ended;
}

}  // namespace cove::spawn
