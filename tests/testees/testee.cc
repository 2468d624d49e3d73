#include "testee.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace testee {
namespace {

constexpr int kRefused = 99;
constexpr unsigned kPatienceSeconds = 30;

bool file_contains(const char* path, std::string_view text) {
  char content[8192];
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : ::read(fd, content, sizeof content);
  if (fd >= 0) ::close(fd);
  return size > 0 && std::string_view(content, static_cast<size_t>(size)).find(text) != std::string_view::npos;
}

bool inside_sandbox() {
  const char* told = ::getenv("IS_SANDBOX");
  return told && std::strcmp(told, "1") == 0 && file_contains("/proc/1/comm", "cove-init\n") &&
         file_contains("/proc/self/status", "\nNoNewPrivs:\t1\n") &&
         file_contains("/proc/self/status", "\nSeccomp:\t2\n");
}

void tell(const char* name, const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::Denied:
      std::printf("%s denied %s\n", name, ::strerrorname_np(outcome.errnum));
      break;
    case Outcome::Kind::Absent:
      std::printf("%s absent\n", name);
      break;
    case Outcome::Kind::Held:
      std::printf("%s held %s\n", name, outcome.detail);
      break;
    case Outcome::Kind::Done:
      std::printf("%s done %s\n", name, outcome.detail);
      break;
  }
  std::fflush(stdout);
}

void make(const Attempt& attempt) {
  std::fflush(stdout);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(kPatienceSeconds);
    tell(attempt.name, attempt.make());
    ::_exit(0);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) < 0)
    std::printf("%s broken: fork: %s\n", attempt.name, std::strerror(errno));
  else if (WIFSIGNALED(status))
    std::printf("%s killed SIG%s\n", attempt.name, ::sigabbrev_np(WTERMSIG(status)));
  std::fflush(stdout);
}

bool is_null_device(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

}  // namespace

void refuse_outside() {
  if (inside_sandbox()) return;
  std::fputs("this program runs in a sandbox of Cove only\n", stderr);
  ::_exit(kRefused);
}

int run(int argc, char** argv, std::span<const Attempt> attempts) {
  refuse_outside();
  for (const Attempt& attempt : attempts) {
    bool wanted = argc > 1 && std::strcmp(argv[1], "all") == 0;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], attempt.name) == 0;
    if (wanted) make(attempt);
  }
  return 0;
}

const char* setting(const char* name) {
  const char* value = ::getenv(name);
  if (value) return value;
  std::printf("the variable %s is missing\n", name);
  std::fflush(stdout);
  ::_exit(1);
}

Outcome write_to(const char* path, const char* text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return denied();
  if (is_null_device(fd)) return held("masked");
  return call(::write(fd, text, std::strlen(text)));
}

Outcome read_from(const char* path) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return denied();
  if (is_null_device(fd)) return held("masked");
  char content[64];
  ssize_t size = ::read(fd, content, sizeof content);
  return size == 0 ? held("empty") : call(size);
}

}  // namespace testee
