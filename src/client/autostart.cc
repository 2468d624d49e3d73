#include "client/autostart.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"
#include "sys/process.h"

extern char** environ;

namespace cove::client {
namespace {

constexpr off_t kLargeLog = 10 << 20;
constexpr size_t kTail = 4096;
constexpr size_t kTailLines = 8;
constexpr auto kStartPatience = std::chrono::seconds(60);
constexpr auto kStopPatience = std::chrono::seconds(30);
constexpr int kReadyFd = 3;

// Only these of the caller's environment, and all that begin with XDG_ or COVE_.
constexpr std::array kKept = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "DOCKER_HOST", "CONTAINER_HOST"};
// These are about the caller, not about the server.
constexpr std::array kDropped = {"COVE_HOST", "COVE_API_KEY", "COVE_PROJECT", "COVE_DIRECT", "COVE_AUTOSTART"};

bool is_kept(std::string_view entry) {
  std::string_view name = entry.substr(0, entry.find('='));
  for (std::string_view dropped : kDropped)
    if (name == dropped) return false;
  for (std::string_view kept : kKept)
    if (name == kept) return true;
  return name.starts_with("XDG_") || name.starts_with("COVE_");
}

std::vector<char*> clean_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (is_kept(*entry)) kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

struct Log {
  std::string path;
  UniqueFd fd;
  off_t begin = 0;  // what stands before this is from earlier servers
};

Result<Log> open_log() {
  std::string folder = COVE_TRY(sys::find_folder(sys::kStateFolder));
  if (!sys::exists(folder)) COVE_TRY(sys::make_folders(folder, 0755));
  Log log{folder + "/server.log", {}, 0};
  Result<struct stat> old = sys::stat(log.path);
  if (old && old->st_size > kLargeLog) COVE_TRY(sys::rename(log.path, log.path + ".1"));
  log.fd = COVE_TRY(sys::open(log.path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  log.begin = COVE_TRY(sys::fstat(log.fd.get())).st_size;
  return log;
}

// The last lines that this server has written.
std::string tail_of(const Log& log) {
  Result<struct stat> info = sys::fstat(log.fd.get());
  if (!info || info->st_size <= log.begin) return "";
  off_t from = std::max(log.begin, info->st_size - static_cast<off_t>(kTail));
  std::string text(kTail, '\0');
  ssize_t size = ::pread(log.fd.get(), text.data(), text.size(), from);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  std::vector<std::string> lines = split(trim(text), '\n');
  if (lines.size() > kTailLines) lines.erase(lines.begin(), lines.end() - kTailLines);
  return join(lines, "\n  ");
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The socket is the server's default, but in a state folder of another place.
std::vector<std::string> server_words(const std::string& program, const std::string& socket) {
  std::vector<std::string> words = {program, "serve", "--auto", "--ready-fd", std::to_string(kReadyFd)};
  if (std::getenv(sys::kStateFolder.variable) != nullptr && std::getenv("COVE_LISTEN") == nullptr)
    words.insert(words.end(), {"--set", concat("listen=unix:", socket)});
  return words;
}

// In the child of the child: the server's process. The pipe that tells of its readiness becomes descriptor 3.
[[noreturn]] void become_server(std::vector<std::string> words, int null, int log, int ready) {
  reset_signals();
  ::umask(022);
  if (::chdir("/") < 0) ::_exit(1);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::dup2(ready, kReadyFd);
  ::syscall(SYS_close_range, kReadyFd + 1, ~0U, 0);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execve(argv[0], argv.data(), clean_environment().data());
  ::dprintf(STDERR_FILENO, "cove: execute %s: %s\n", argv[0], ::strerror(errno));
  ::_exit(1);
}

// Twice forked: nobody's child, in a session of its own that it does not lead, so that it never gets a terminal.
Result<void> launch(const std::vector<std::string>& words, const Log& log, int ready) {
  UniqueFd null = COVE_TRY(sys::open("/dev/null", O_RDONLY));
  // Above all numbers that are given out anew.
  UniqueFd high_ready(::fcntl(ready, F_DUPFD_CLOEXEC, 10));
  UniqueFd high_log(::fcntl(log.fd.get(), F_DUPFD_CLOEXEC, 10));
  UniqueFd high_null(::fcntl(null.get(), F_DUPFD_CLOEXEC, 10));
  if (!high_ready || !high_log || !high_null) return fail_errno("dup");
  pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    ::setsid();
    pid_t grandchild = ::fork();
    if (grandchild == 0) become_server(words, high_null.get(), high_log.get(), high_ready.get());
    ::_exit(grandchild < 0 ? 1 : 0);
  }
  int status = COVE_TRY(sys::wait_for(child));
  if (status != 0) return fail(Code::Exhausted, "start the server: fork");
  return {};
}

// "ready" comes when it listens; "error: …", or an end without a word, means that it could not.
Result<bool> wait_until_ready(int ready) {
  pollfd polled = {ready, POLLIN, 0};
  auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kStartPatience).count();
  int status;
  do {
    status = ::poll(&polled, 1, static_cast<int>(patience));
  } while (status < 0 && errno == EINTR);
  if (status < 0) return fail_errno("poll");
  char byte;
  return status > 0 && ::read(ready, &byte, 1) == 1 && byte == 'r';
}

}  // namespace

Result<std::string> program_beside(const std::string& name) {
  std::string own = COVE_TRY(sys::readlink("/proc/self/exe"));
  std::string path = concat(folder_of(own), "/", name);
  if (::access(path.c_str(), X_OK) == 0) return path;
  return fail(Error(Code::Unavailable, concat("there is no ", name, " beside ", own))
                  .hint("install all programs of Cove in one folder"));
}

Result<UniqueFd> lock_start(const std::string& socket) {
  std::string folder = folder_of(socket);
  COVE_TRY(sys::make_run_folder(folder));
  UniqueFd lock = COVE_TRY(sys::open(folder + "/start.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  int status;
  do {
    status = ::flock(lock.get(), LOCK_EX);
  } while (status < 0 && errno == EINTR);
  if (status < 0) return fail_errno(concat("lock ", folder, "/start.lock"));
  return lock;
}

Result<void> start_server(const std::string& socket) {
  std::string program = COVE_TRY_NOTE("start the server", program_beside("cove-spawn"));
  Log log = COVE_TRY_NOTE("start the server", open_log());
  sys::Pipe ready = COVE_TRY(sys::pipe());
  COVE_TRY_NOTE("start the server", launch(server_words(program, socket), log, ready.write.get()));
  ready.write.reset();
  if (COVE_TRY(wait_until_ready(ready.read.get()))) return {};
  std::string tail = tail_of(log);
  std::string why = tail.empty() ? "it ended without a word" : concat("it said\n  ", tail);
  return fail(Error(Code::Unavailable, concat("the server could not be started: ", why))
                  .hint(concat("its log is ", log.path, "; cove serve runs it in the foreground")));
}

Result<void> stop_server(pid_t pid) {
  UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle && errno == ESRCH) return {};
  if (!handle) return fail_errno(concat("pidfd_open ", pid));
  COVE_TRY_NOTE("stop the server", sys::kill_by_pidfd(handle.get(), SIGTERM));
  pollfd polled = {handle.get(), POLLIN, 0};
  auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kStopPatience).count();
  if (::poll(&polled, 1, static_cast<int>(patience)) > 0) return {};
  return fail(Code::Unavailable, concat("the server (process ", pid, ") does not end"));
}

}  // namespace cove::client
