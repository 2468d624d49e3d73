// The part of process 1 that is in a kernel of its own (gVisor's): groups for its programs, terminals whose other end
// is outside, and the memory limit, which that kernel does not hold itself.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "init/supervisor.h"

namespace cove::init {
namespace {

// This kernel counts in large pieces, and parts of its own among them.
constexpr uint64_t kMemorySlack = 64 << 20;
constexpr uint64_t kHeldMilliseconds = 500;  // for the output of a far terminal to be moved

// Older gVisors refuse a flag that does nothing in them, and that ls(1) gives; then a library takes it away.
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

// False at the end of either.
bool move_some(int from, int to) {
  char piece[16 * 1024];
  ssize_t size = ::read(from, piece, sizeof piece);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  return size > 0 && write_all(to, piece, size);
}

[[noreturn]] void pump(int terminal, int far_end) {
  while (true) {
    pollfd polled[] = {{terminal, POLLIN, 0}, {far_end, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (polled[0].revents && !move_some(terminal, far_end)) ::_exit(0);
    if (polled[1].revents && !move_some(far_end, terminal)) ::_exit(0);
  }
}

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

// A process of its own: process 1 waits for nobody.
bool Supervisor::start_pump(Program& program, int far_end) {
  program.pump = ::fork();
  if (program.pump != 0) return program.pump > 0;
  ::setsid();
  constexpr int kTerminal = 3, kFarEnd = 4, kHigh = 64;
  int high = ::fcntl(far_end, F_DUPFD, kHigh);
  ::dup2(program.terminal.get(), kTerminal);
  ::dup2(high, kFarEnd);
  ::syscall(SYS_close_range, kFarEnd + 1, kLastFd, 0);
  pump(kTerminal, kFarEnd);
}

// Whoever hears of its end has all that it wrote.
void Supervisor::end_when_moved(Program& program, std::string word) {
  if (program.pump <= 0) return end_with(program, std::move(word));
  program.last_word = std::move(word);
  program.held_until = monotonic_milliseconds() + kHeldMilliseconds;
  program.pid = -1;
}

void Supervisor::pump_ended(pid_t pid) {
  for (auto& program : programs_) {
    if (program->pump != pid) continue;
    program->pump = -1;
    if (program->held_until > 0 && !program->ended) end_with(*program, std::string(program->last_word));
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
