// What all users of a kernel share, or one user's programs do: `stay` takes all that it gets of it, and keeps it until
// the end of its input; `check` tells what there is left for others, on the host and in a neighbour's sandbox.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "testee.h"

namespace {

constexpr int kMost = 200'000;

bool make_timer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_NONE;
  timer_t timer;
  return ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

bool queue_signal() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  return ::sigqueue(::getpid(), SIGRTMIN, {}) == 0;
}

bool make_inotify() { return ::inotify_init1(IN_CLOEXEC) >= 0; }

// Each of another file.
bool watch_file() {
  static const int instance = ::inotify_init1(IN_CLOEXEC);
  static int count = 0;
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/cove-testee-%d-%d", ::getpid(), ++count);
  const int file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool watched = ::inotify_add_watch(instance, path, IN_ATTRIB) >= 0;
  const int errnum = errno;
  ::close(file);
  if (!watched || ::getenv("IS_SANDBOX") == nullptr) ::unlink(path);
  errno = errnum;
  return watched;
}

// As large as it gets. Landlock lets nobody open a queue, but it is made all the same.
bool make_queue() {
  static int count = 0;
  char name[64];
  std::snprintf(name, sizeof name, "/cove-testee-%d-%d", ::getpid(), ++count);
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  bool made = false;
  for (long size : {8192L, 64L}) {
    mq_attr attributes = {};
    attributes.mq_maxmsg = size == 64 ? 1 : 10;
    attributes.mq_msgsize = size;
    made = ::mq_open(name, kFlags, 0600, &attributes) >= 0 ||
           (errno == EACCES && ::mq_open(name, kFlags, 0600, &attributes) < 0 && errno == EEXIST);
    if (made) break;
  }
  const int errnum = errno;
  if (::getenv("IS_SANDBOX") == nullptr) ::mq_unlink(name);
  errno = errnum;
  return made;
}

bool open_terminal() { return ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0; }

bool make_aio_context() {
  aio_context_t context = 0;
  return ::syscall(SYS_io_setup, 1024, &context) == 0;
}

struct Resource {
  const char* name;
  bool (*take)();
  int most = kMost;
};
// Watches before instances, of which they need one.
constexpr Resource kResources[] = {{"watch", watch_file, 30'000}, {"inotify", make_inotify}, {"queue", make_queue},
                                   {"terminal", open_terminal},   {"timer", make_timer},     {"signal", queue_signal},
                                   {"aio", make_aio_context}};

void raise_open_files() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int stay() {
  raise_open_files();
  for (const Resource& resource : kResources) {
    int taken = 0;
    while (taken < resource.most && resource.take()) ++taken;
    std::printf("%s %d %s; ", resource.name, taken, ::strerrorname_np(errno));
  }
  std::puts("ready");
  std::fflush(stdout);
  char byte;
  while (::read(0, &byte, 1) > 0) {
  }
  return 0;
}

// Of each so much as an ordinary program uses.
int check() {
  int missing = 0;
  for (const Resource& resource : kResources) {
    if (std::strcmp(resource.name, "aio") == 0) continue;  // in a sandbox there is none
    for (int i = 0; i < 3; ++i) {
      if (resource.take()) continue;
      std::printf("%s %s\n", resource.name, ::strerrorname_np(errno));
      ++missing;
      break;
    }
  }
  if (missing == 0) std::puts("enough of all");
  return missing;
}

}  // namespace

int main(int argc, char** argv) {
  // On the host it checks, and takes no more than any program does.
  if (argc == 2 && std::strcmp(argv[1], "check") == 0) return check();
  testee::refuse_outside();
  return argc == 2 && std::strcmp(argv[1], "stay") == 0 ? stay() : 2;
}
