#include "run/caller.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace cove {

Result<Caller> Caller::create() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) sigaddset(&set, number);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0) return fail_errno("sigprocmask");
  ::signal(SIGPIPE, SIG_IGN);
  Caller caller;
  caller.signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!caller.signals_) return fail_errno("signalfd");
  return caller;
}

Caller::~Caller() {
  if (saved_) ::tcsetattr(0, TCSADRAIN, &*saved_);
}

std::optional<Caller::Signal> Caller::next_signal() {
  signalfd_siginfo info;
  if (::read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

void Caller::enter_raw_mode() {
  termios now;
  if (::tcgetattr(0, &now) < 0) return;
  saved_ = now;
  ::cfmakeraw(&now);
  ::tcsetattr(0, TCSADRAIN, &now);
}

WindowSize Caller::window_size() {
  for (int fd : {0, 1, 2}) {
    winsize size;
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return {size.ws_row, size.ws_col};
  }
  return {};
}

}  // namespace cove
