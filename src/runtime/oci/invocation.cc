#include "runtime/oci/invocation.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/text.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove::oci {
namespace {

constexpr size_t kLongestComplaint = 600;
constexpr int kFirstPassed = 3;

// Passed descriptors get the expected numbers, and all others are closed.
void place(const Invocation& call, int complaints) {
  constexpr int kHigh = 64;
  std::vector<int> high;
  for (int fd : call.passed) high.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, kHigh));
  int input = call.input < 0 ? -1 : ::fcntl(call.input, F_DUPFD_CLOEXEC, kHigh);
  int errors = ::fcntl(complaints, F_DUPFD_CLOEXEC, kHigh);
  for (size_t i = 0; i < high.size(); ++i) ::dup2(high[i], kFirstPassed + static_cast<int>(i));
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::syscall(SYS_close_range, kFirstPassed + static_cast<unsigned>(high.size()), ~0u, CLOSE_RANGE_CLOEXEC);
}

[[noreturn]] void execute(const Invocation& call, int complaints) {
  for (int fd : call.join_fds)
    if (::write(fd, "0", 1) != 1) ::_exit(126);
  if (call.prepare && ::unshare(CLONE_NEWNS) < 0) ::_exit(126);
  if (call.prepare) call.prepare();
  place(call, complaints);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> argv;
  for (const std::string& word : call.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char* env[] = {path, nullptr};
  ::execve(argv[0], argv.data(), env);
  ::dprintf(STDERR_FILENO, "cannot be executed: %m");
  ::_exit(127);
}

// The last message of the runtime, without the prefix of its log line.
std::string words_of(int complaints) {
  if (::lseek(complaints, 0, SEEK_SET) < 0) return {};
  std::string text(trim(sys::read_all(complaints, 64 * 1024).value_or("")));
  if (size_t line = text.rfind('\n'); line != text.npos) text.erase(0, line + 1);
  if (size_t message = text.find("msg=\""); message != text.npos) text.erase(0, message + 5);
  while (text.ends_with('"')) text.pop_back();
  return text.substr(0, kLongestComplaint);
}

}  // namespace

Result<void> write_bundle(const std::string& config) {
  UniqueFd memory =
      COVE_TRY(sys::make_mount("tmpfs", {{"size", "4m"}, {"mode", "0755"}}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  COVE_TRY(sys::mkdir(kBundle, 0755));
  COVE_TRY(sys::attach_mount(memory.get(), AT_FDCWD, kBundle));
  return sys::write_file(concat(std::string_view(kBundle), "/config.json"), config);
}

Result<void> invoke(const Invocation& call) {
  UniqueFd complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!complaints) return fail_errno("memfd_create");
  pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) execute(call, complaints.get());
  int status = COVE_TRY(sys::wait_for(pid));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string why = words_of(complaints.get());
  if (why.empty()) why = WIFSIGNALED(status) ? concat("killed by signal ", WTERMSIG(status)) : "no error message";
  return fail(Error(Code::Unavailable, concat(call.runtime, " did not start the sandbox: ", why))
                  .hint("`cove doctor` shows which runtimes this machine has; native needs no other program"));
}

}  // namespace cove::oci
