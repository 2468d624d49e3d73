#include "api/doctor_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "sys/file.h"

namespace cove::api {
namespace {

constexpr size_t kLongestReport = 1 << 20;
constexpr std::chrono::seconds kPatience{10};

Result<std::string> program_beside_us(const std::string& name) {
  std::string self = COVE_TRY(sys::readlink("/proc/self/exe"));
  return concat(self.substr(0, self.rfind('/') + 1), name);
}

// Its output is the pipe; it can be interrupted, though this process blocks signals.
Result<pid_t> spawn(const std::string& program, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string words[] = {"cove", "doctor", "--json"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  int status = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (status != 0) return fail(Error::from_errno(status, concat("start ", program)).as(Code::Unavailable));
  return pid;
}

// All of it, but nobody waits for ever.
Result<std::string> read_report(int fd) {
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string report;
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd polled = {.fd = fd, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) == 0)
      return fail(Code::Unavailable, "the examination of the machine takes too long");
    char piece[16384];
    ssize_t count = ::read(fd, piece, sizeof piece);
    if (count < 0 && errno != EINTR) return fail_errno("read the doctor's report");
    if (count == 0 || report.size() > kLongestReport) return report;
    if (count > 0) report.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace

Result<std::string> run_doctor() {
  std::string program = COVE_TRY(program_beside_us("cove"));
  sys::Pipe pipe = COVE_TRY(sys::pipe());
  pid_t pid = COVE_TRY(spawn(program, pipe.write.get()));
  pipe.write.reset();
  Result<std::string> report = read_report(pipe.read.get());
  if (!report) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return report;
}

Result<std::string> DoctorsReport::read() {
  std::lock_guard turn(mutex_);
  if (fd_) {
    text_ = COVE_TRY(read_report(fd_.get()));
    fd_.reset();
  }
  return text_;
}

}  // namespace cove::api
