// Attempts to type into a terminal on someone's behalf.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>

#include "testee.h"

namespace {

using namespace testee;

constexpr uint64_t kHighBits = 0xdeadbeefull << 32;
constexpr uint64_t kTiocsti = 0x5412;
constexpr uint64_t kTioclinux = 0x541c;

// The terminal's side of a fresh pseudo terminal, or the terminal that the program runs in.
int open_terminal() {
  if (::isatty(0)) return 0;
  int master = ::open("/dev/ptmx", O_RDWR);
  int unlock = 0;
  if (master < 0 || ::ioctl(master, TIOCSPTLCK, &unlock) < 0) return -1;
  ::setsid();
  return ::ioctl(master, TIOCGPTPEER, O_RDWR);
}

// By the raw call: the C library might cut the number.
Outcome request(uint64_t number, const char* argument) {
  int terminal = open_terminal();
  if (terminal < 0) return denied();
  return call(::syscall(SYS_ioctl, terminal, number, argument));
}

// Pastes the selection (3), or sets one (2).
constexpr char kPaste[] = {3, 0};

Outcome steal_terminal() {
  int terminal = open_terminal();
  if (::isatty(0)) return held("it is its own");
  if (::ioctl(terminal, TIOCSCTTY, 0) < 0) return denied();
  // It is the session's now: another session must not take it.
  if (::fork() == 0) {
    ::setsid();
    int status = ::ioctl(terminal, TIOCSCTTY, 1);
    ::_exit(status < 0 ? errno : 0);
  }
  int status = 0;
  siginfo_t info = {};
  if (::waitid(P_ALL, 0, &info, WEXITED) < 0) return denied();
  status = info.si_status;
  return status == 0 ? done() : denied(status);
}

constexpr Attempt kAttempts[] = {
    {"tiocsti", [] { return request(kTiocsti, "x"); }},
    {"tiocsti_with_high_bits", [] { return request(kTiocsti | kHighBits, "x"); }},
    {"tiocsti_with_sign_bits", [] { return request(kTiocsti | ~0ull << 32, "x"); }},
    {"tioclinux", [] { return request(kTioclinux, kPaste); }},
    {"tioclinux_with_high_bits", [] { return request(kTioclinux | kHighBits, kPaste); }},
    {"tioccons", [] { return request(TIOCCONS, nullptr); }},
    {"steal_terminal", steal_terminal},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
