#include "sys/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::sys {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> found;
  for (std::string& word : words) found.push_back(word.data());
  found.push_back(nullptr);
  return found;
}

// Unblocks signals in the program, even if this process blocks them.
Result<pid_t> spawn(Question question, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  int errnum = ::posix_spawn(&pid, question.argv[0].c_str(), &actions, &attributes, pointers(question.argv).data(),
                             pointers(question.env).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (errnum != 0) return fail(Error::from_errno(errnum, concat("start ", question.argv[0])).as(Code::Unavailable));
  return pid;
}

// Whether there is something to read before the deadline; for a pidfd, whether the process has ended.
bool is_ready(int fd, Clock::time_point deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd polled = {fd, POLLIN, 0};
  return left > 0 && ::poll(&polled, 1, static_cast<int>(left)) != 0;
}

// Reads until the other end is closed.
Result<std::string> listen(int fd, const Question& question, Clock::time_point deadline) {
  std::string text;
  char piece[4096];
  while (text.size() <= question.most) {
    if (!is_ready(fd, deadline)) return fail(Code::Unavailable, concat(question.argv[0], " timed out"));
    ssize_t count = ::read(fd, piece, sizeof piece);
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return fail_errno(concat("read the output of ", question.argv[0]));
    if (count > 0) text.append(piece, static_cast<size_t>(count));
  }
  return fail(Code::Unavailable, concat(question.argv[0], " prints more than ", question.most, " bytes"));
}

}  // namespace

Result<std::string> output_of(const Question& question) {
  Clock::time_point deadline = Clock::now() + question.patience;
  Pipe pipe = COVE_TRY(sys::pipe());
  pid_t pid = COVE_TRY(spawn(question, pipe.write.get()));
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pipe.write.reset();
  Result<std::string> text = listen(pipe.read.get(), question, deadline);
  if (!text || (pidfd && !is_ready(pidfd.get(), deadline))) ::kill(pid, SIGKILL);
  int status = COVE_TRY(wait_for(pid));
  if (text && status != 0)
    return fail(Code::Unavailable,
                concat(question.argv[0], WIFSIGNALED(status) ? " was killed by signal " : " exited with ",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
  return text;
}

}  // namespace cove::sys
