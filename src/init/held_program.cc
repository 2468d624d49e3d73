#include "init/held_program.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

namespace cove::init {
namespace {

using copy::Refusal;

constexpr long kRestarts = -512;  // ERESTARTSYS, which only a tracer sees
constexpr int kPatience = 200;    // looks, before it is taken for granted that it does something else

void pause_a_little() {
  constexpr long kNanoseconds = 100'000;
  timespec time = {0, kNanoseconds};
  ::nanosleep(&time, nullptr);
}

}  // namespace

HeldProgram::~HeldProgram() {
  if (!stopped_) return;
  ::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
  ::ptrace(PTRACE_DETACH, pid_, nullptr, signal_);
}

Refusal HeldProgram::hold() {
  if (::ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_EXITKILL) < 0) return Refusal::System;
  for (int i = 0; i < kPatience; ++i) {
    if (!stop()) return Refusal::System;
    if (signal_ != 0) return Refusal::Signals;
    if (is_reading()) return Refusal::None;
    stopped_ = false;
    if (::ptrace(PTRACE_CONT, pid_, nullptr, nullptr) < 0) return Refusal::System;
    pause_a_little();
  }
  // It is let go where it is.
  return stop() ? Refusal::NotWaiting : Refusal::System;
}

long HeldProgram::call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  user_regs_struct call = registers_;
  call.rax = static_cast<unsigned long long>(number);
  call.orig_rax = ~0ull;  // nothing is made anew when it is done
  call.rdi = a, call.rsi = b, call.rdx = c, call.r10 = d;
  call.rip -= copy::kCallSize;
  if (::ptrace(PTRACE_SETREGS, pid_, nullptr, &call) < 0 || ::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) < 0)
    return -1;
  int status = 0;
  if (::waitpid(pid_, &status, __WALL) != pid_ || status >> 8 != SIGTRAP) return -1;
  if (::ptrace(PTRACE_GETREGS, pid_, nullptr, &call) < 0) return -1;
  return static_cast<long>(call.rax) < 0 ? -1 : static_cast<long>(call.rax);
}

bool HeldProgram::read(uint64_t from, void* to, size_t size) const {
  iovec local = {to, size};
  iovec remote = {reinterpret_cast<void*>(from), size};
  return ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool HeldProgram::is_reading() const {
  return static_cast<long>(registers_.orig_rax) == SYS_read && static_cast<long>(registers_.rax) == kRestarts &&
         registers_.rdi == copy::kScriptDescriptor;
}

bool HeldProgram::stop() {
  int status = 0;
  if (::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) < 0) return false;
  if (::waitpid(pid_, &status, __WALL) != pid_ || !WIFSTOPPED(status)) return false;
  // A signal that came first: it is passed on.
  signal_ = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
  stopped_ = ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_) == 0;
  return stopped_;
}

}  // namespace cove::init
