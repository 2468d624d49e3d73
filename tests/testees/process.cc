// Attempts on process 1, on processes of the host, and on those of the sandbox's own root.
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

pid_t host_process() { return static_cast<pid_t>(std::atoi(setting("HOST_PROCESS"))); }

// Whether the kernel lets them through or not, process 1 must go on.
Outcome signal_process_1() {
  bool sent = false;
  for (int number = 1; number < NSIG; ++number) sent |= ::kill(1, number) == 0;
  if (!sent) return denied();
  for (int i = 0; i < 1000; ++i) ::sched_yield();
  return ::kill(1, 0) == 0 || errno == EPERM ? held("it goes on") : done();
}

Outcome queue_signals_to_process_1() {
  siginfo_t info = {};
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_signo = SIGCHLD;
  long status = 0;
  for (int i = 0; i < 100'000 && status == 0; ++i) status = ::syscall(SYS_rt_sigqueueinfo, 1, SIGCHLD, &info);
  return status == 0 || errno == EAGAIN ? held("it goes on") : denied();
}

Outcome signal_process_1_by_pidfd() {
  long pidfd = ::syscall(SYS_pidfd_open, 1, 0);
  if (pidfd < 0 || ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0) < 0) return denied();
  return ::kill(1, 0) == 0 || errno == EPERM ? held("it goes on") : done();
}

Outcome trace(pid_t pid) {
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) < 0) return denied();
  return done();
}

Outcome attach(pid_t pid) { return call(::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr)); }

Outcome read_memory(pid_t pid) {
  char buffer[16];
  iovec local = {buffer, sizeof buffer};
  iovec remote = {const_cast<char*>(kMark), 8};
  return call(::process_vm_readv(pid, &local, 1, &remote, 1, 0));
}

Outcome write_memory(pid_t pid) {
  char buffer[16] = {};
  iovec local = {buffer, sizeof buffer};
  iovec remote = {const_cast<char*>(kMark), 8};
  return call(::process_vm_writev(pid, &local, 1, &remote, 1, 0));
}

Outcome robust_list_of(pid_t pid) {
  void* head;
  size_t size;
  return call(::syscall(SYS_get_robust_list, pid, &head, &size));
}

// Where it is pinned to as many CPUs as it may use.
Outcome widen_cpus() {
  cpu_set_t before, all, after;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  ::sched_getaffinity(0, sizeof before, &before);
  if (::sched_setaffinity(0, sizeof all, &all) < 0) return denied();
  ::sched_getaffinity(0, sizeof after, &after);
  return CPU_COUNT(&after) > CPU_COUNT(&before) ? done() : held("it had them all");
}

Outcome pin_process_1() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return call(::sched_setaffinity(1, sizeof set, &set));
}

Outcome limit_process_1() {
  struct rlimit none = {0, 0};
  return call(::prlimit(1, RLIMIT_NOFILE, &none, nullptr));
}

// A process that sudo started as the sandbox's root: "sudo sleep", seen from the user that asked for it.
pid_t start_roots_process() {
  int ends[2];
  if (::pipe(ends) < 0) return -1;
  if (::fork() == 0) {
    ::dup2(ends[1], 1);
    ::execlp("sudo", "sudo", "sh", "-c", "echo $$; exec sleep 20", nullptr);
    ::_exit(1);
  }
  char text[32] = "";
  if (::read(ends[0], text, sizeof text - 1) <= 0) return -1;
  return static_cast<pid_t>(std::atoi(text));
}

Outcome on_roots_process(Outcome (*attempt)(pid_t)) {
  if (::getuid() == 0) return held("it is root itself");
  pid_t pid = start_roots_process();
  if (pid <= 0) return {Outcome::Kind::Done, 0, "broken: sudo does not work"};
  return attempt(pid);
}

Outcome open_memory(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/mem", pid);
  return call(::open(path, O_RDWR));
}

Outcome open_root(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/root", pid);
  return call(::open(path, O_RDONLY | O_DIRECTORY));
}

// With all processes taken, whatever still starts must be as confined as before. Where nothing holds their number, the
// machine is not to suffer for it.
Outcome exhaust_processes() {
  constexpr int kFarTooMany = 10'000;
  int count = 0;
  int ends[2];
  if (::pipe(ends) < 0) return denied();
  pid_t pid = -1;
  while (count < kFarTooMany && (pid = ::fork()) > 0) ++count;
  if (pid == 0) {
    char byte;
    ::close(ends[1]);
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  bool limited = count < kFarTooMany && errno == EAGAIN;
  ::close(ends[1]);
  while (::wait(nullptr) > 0) {
  }
  return limited ? denied(EAGAIN) : done();
}

constexpr Attempt kAttempts[] = {
    {"signal_process_1", signal_process_1},
    {"queue_signals_to_process_1", queue_signals_to_process_1},
    {"signal_process_1_by_pidfd", signal_process_1_by_pidfd},
    {"seize_process_1", [] { return trace(1); }},
    {"attach_process_1", [] { return attach(1); }},
    {"read_memory_of_process_1", [] { return read_memory(1); }},
    {"write_memory_of_process_1", [] { return write_memory(1); }},
    {"compare_with_process_1", [] { return call(::syscall(SYS_kcmp, 1, ::getpid(), KCMP_VM, 0, 0)); }},
    {"robust_list_of_process_1", [] { return robust_list_of(1); }},
    {"pin_process_1", pin_process_1},
    {"widen_cpus", widen_cpus},
    {"slow_process_1", [] { return call(::setpriority(PRIO_PROCESS, 1, 19)); }},
    {"limit_process_1", limit_process_1},
    {"signal_host_process", [] { return call(::kill(host_process(), SIGKILL)); }},
    {"signal_host_group", [] { return call(::kill(-host_process(), SIGKILL)); }},
    {"seize_host_process", [] { return trace(host_process()); }},
    {"read_memory_of_host_process", [] { return read_memory(host_process()); }},
    {"open_host_process", [] { return call(::syscall(SYS_pidfd_open, host_process(), 0)); }},
    {"limit_host_process", [] { return call(::prlimit(host_process(), RLIMIT_NOFILE, nullptr, nullptr)); }},
    {"seize_roots_process", [] { return on_roots_process(trace); }},
    {"attach_roots_process", [] { return on_roots_process(attach); }},
    {"read_memory_of_roots_process", [] { return on_roots_process(read_memory); }},
    {"open_memory_of_roots_process", [] { return on_roots_process(open_memory); }},
    {"open_root_of_roots_process", [] { return on_roots_process(open_root); }},
    {"exhaust_processes", exhaust_processes},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
