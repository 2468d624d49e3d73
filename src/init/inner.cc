// The part of process 1 that runs in gVisor's kernel: groups for its programs, terminals whose other end is outside,
// and the memory limit, which that kernel does not enforce itself.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "init/supervisor.h"

namespace cove::init {
namespace {

// This kernel accounts memory in large units, and includes its own.
constexpr uint64_t kMemorySlack = 64 << 20;
constexpr uint64_t kHeldMilliseconds = 500;  // to forward the remaining output of a remote terminal

// Older gVisor versions reject a statx flag that ls(1) uses; then a preloaded library removes it.
void help_with_statx(wire::ExecRequest& request) {
  constexpr const char* kVariable = "LD_PRELOAD=";
  constexpr int kNoAutomount = 0x800;
  static const bool refuses = [] {
    char out[256];
    return ::syscall(SYS_statx, AT_FDCWD, "/", kNoAutomount, 0, out) < 0 && errno == EINVAL;
  }();
  for (const std::string& entry : request.env)
    if (entry.starts_with(kVariable)) return;
  if (refuses) request.env.push_back(std::string(kVariable) + kStatLibrary);
}

bool write_all(int fd, const char* data, ssize_t size) {
  while (size > 0) {
    ssize_t count = ::write(fd, data, static_cast<size_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd polled = {fd, POLLOUT, 0};
      ::poll(&polled, 1, -1);
      continue;
    }
    if (count <= 0) return false;
    data += count;
    size -= count;
  }
  return true;
}

// False at the end of one of them.
bool move_some(int from, int to) {
  char piece[16 * 1024];
  ssize_t size = ::read(from, piece, sizeof piece);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  return size > 0 && write_all(to, piece, size);
}

// The signal that a key of the terminal sends; 0: none.
int signal_of(char key, const termios& mode) {
  if ((mode.c_lflag & ISIG) == 0 || key == 0) return 0;
  const auto code = static_cast<cc_t>(key);
  if (code == mode.c_cc[VINTR]) return SIGINT;
  if (code == mode.c_cc[VQUIT]) return SIGQUIT;
  return code == mode.c_cc[VSUSP] ? SIGTSTP : 0;
}

struct Pump {
  int terminal;
  int far_end;
  int keys;  // receives the signals of keys: gVisor's terminals send none

  // False at the end of one of them.
  bool move_input() const {
    char piece[4096];
    const ssize_t size = ::read(far_end, piece, sizeof piece);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    termios mode = {};
    if (::tcgetattr(terminal, &mode) < 0) mode.c_lflag = 0;
    ssize_t sent = 0;
    for (ssize_t i = 0; i < size; ++i) {
      const int number = signal_of(piece[i], mode);
      if (number == 0) continue;
      if (!write_all(terminal, piece + sent, i - sent) || !press(piece[i], number, mode)) return false;
      sent = i + 1;
    }
    return size > 0 && write_all(terminal, piece + sent, size - sent);
  }

  // Echoes it like a terminal: Ctrl-C as ^C.
  bool press(char key, int number, const termios& mode) const {
    const char shown[] = {'^', static_cast<char>(key ^ 0x40)};
    if ((mode.c_lflag & ECHO) && !write_all(far_end, shown, sizeof shown)) return false;
    const auto byte = static_cast<char>(number);
    return write_all(keys, &byte, 1);
  }

  [[noreturn]] void run() const {
    ::signal(SIGPIPE, SIG_IGN);
    while (true) {
      pollfd polled[] = {{terminal, POLLIN, 0}, {far_end, POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0 && errno != EINTR) ::_exit(1);
      if (polled[0].revents && !move_some(terminal, far_end)) ::_exit(0);
      if (polled[1].revents && !move_input()) ::_exit(0);
    }
  }
};

}  // namespace

bool Supervisor::enter_groups(Program& program, ChildPlan& plan) {
  program.join_fds = groups_.open(program.id);
  if (program.join_fds.empty()) return false;
  program.group = program.id;
  for (const UniqueFd& fd : program.join_fds) plan.join_fds.push_back(fd.get());
  plan.joins_by_number = true;
  help_with_statx(plan.request);
  return true;
}

// A separate process, because process 1 must not block.
bool Supervisor::start_pump(Program& program, int far_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return false;
  program.keys.reset(ends[0]);
  UniqueFd keys(ends[1]);
  program.pump = ::fork();
  if (program.pump != 0) return program.pump > 0;
  ::setsid();
  constexpr int kTerminal = 3, kFarEnd = 4, kKeys = 5, kHigh = 64;
  const int high_end = ::fcntl(far_end, F_DUPFD, kHigh), high_keys = ::fcntl(keys.get(), F_DUPFD, kHigh);
  ::dup2(program.terminal.get(), kTerminal);
  ::dup2(high_end, kFarEnd);
  ::dup2(high_keys, kKeys);
  ::syscall(SYS_close_range, kKeys + 1, kLastFd, 0);
  Pump{kTerminal, kFarEnd, kKeys}.run();
}

// Its end is reported only after all its output has been forwarded.
void Supervisor::end_when_moved(Program& program, std::string word) {
  if (program.pump <= 0) return end_with(program, std::move(word));
  program.end_message = std::move(word);
  program.held_until = monotonic_milliseconds() + kHeldMilliseconds;
  program.pid = -1;
}

void Supervisor::pump_ended(pid_t pid) {
  for (auto& program : programs_) {
    if (program->pump != pid) continue;
    program->pump = -1;
    if (program->held_until > 0 && !program->ended) end_with(*program, std::string(program->end_message));
  }
}

bool Supervisor::needs_turns() const {
  if (!mode_.inner) return false;
  for (const auto& program : programs_)
    if (!program->ended) return true;
  return false;
}

void Supervisor::take_turn() {
  uint64_t now = monotonic_milliseconds();
  for (auto& program : programs_)
    if (!program->ended && program->held_until > 0 && now > program->held_until) ::kill(program->pump, SIGKILL);
  if (mode_.memory == 0 || now < turn_at_) return;
  turn_at_ = now + kTurnMilliseconds;
  if (memory_in_use() <= mode_.memory + kMemorySlack) return;
  pid_t largest = largest_process();
  for (auto& program : programs_)
    if (!program->ended && groups_.contains(program->id, largest)) ++program->memory_kills;
  if (largest > 1) ::kill(largest, SIGKILL);
}

}  // namespace cove::init
