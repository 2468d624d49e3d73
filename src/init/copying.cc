#include "init/copying.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "init/exec_child.h"

namespace cove::init {

pid_t start_copying(const CopyOrder& order, int out) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Of what is process 1's nothing stays open: somebody may wait for the end of a pipe.
  constexpr int kOut = 3;
  if (out != kOut && ::dup3(out, kOut, O_CLOEXEC) < 0) ::_exit(static_cast<int>(copy::Refusal::System));
  ::syscall(SYS_close_range, kOut + 1, kLastFd, 0);
  ::_exit(static_cast<int>(copy_program(order, kOut)));
}

}  // namespace cove::init

#if defined(__x86_64__)

#include <sys/ptrace.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "init/held_program.h"
#include "init/process_files.h"
#include "init/program_memory.h"
#include "resume_program.h"

namespace cove::init {
namespace {

using copy::Header;
using copy::Refusal;

bool write_at(int fd, const void* data, size_t size, uint64_t offset) {
  return ::pwrite(fd, data, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The value of a line like "SigIgn:\t0000000001001000".
uint64_t number_in(std::string_view text, std::string_view name, int base) {
  size_t at = text.find(name);
  return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + name.size(), nullptr, base);
}

void take_registers(const user_regs_struct& from, Header& header) {
  header.registers = {from.rbx, from.rbp, from.r12,      from.r13, from.r14,
                      from.r15, from.rdi, from.rsi,      from.rdx, from.r10,
                      from.r8,  from.r9,  from.orig_rax, from.rsp, from.rip - copy::kCallSize};
  header.thread_pointer = from.fs_base;
}

Refusal take_signals(pid_t pid, HeldProgram& held, Header& header) {
  std::string status;
  if (!read_process_file(of_process(pid, "status"), status)) return Refusal::System;
  // Shadow stacks, say: memory that cannot be put back.
  size_t features = status.find("\nx86_Thread_features:\t");
  if (features != std::string::npos && status[features + std::strlen("\nx86_Thread_features:\t")] != '\n')
    return Refusal::Memory;
  if (number_in(status, "\nSigPnd:", 16) != 0 || number_in(status, "\nShdPnd:", 16) != 0) return Refusal::Signals;
  header.signal_mask = number_in(status, "\nSigBlk:", 16);
  header.ignored_signals = number_in(status, "\nSigIgn:", 16);
  const uint64_t caught = number_in(status, "\nSigCgt:", 16);
  for (int i = 0; i < copy::kSignals; ++i)
    if ((caught >> i & 1) &&
        !held.ask(header.actions[i], SYS_rt_sigaction, static_cast<uint64_t>(i) + 1, 2, sizeof(uint64_t)))
      return Refusal::System;
  stack_t stack = {};
  if (!held.ask(stack, SYS_sigaltstack, 0, 1)) return Refusal::System;
  return (stack.ss_flags & SS_DISABLE) ? Refusal::None : Refusal::Signals;
}

bool take_thread(pid_t pid, HeldProgram& held, Header& header) {
  if (::syscall(SYS_get_robust_list, pid, &header.robust_list, &header.robust_list_size) < 0) return false;
  __ptrace_rseq_configuration rseq = {};
  if (::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, pid, sizeof rseq, &rseq) < 0) return false;
  header.rseq = rseq.rseq_abi_pointer;
  header.rseq_size = rseq.rseq_abi_size;
  header.rseq_signature = rseq.signature;
  return held.ask(header.tid_address, SYS_prctl, PR_GET_TID_ADDRESS, 1);
}

// What can be seen before it is held.
Refusal check_threads(pid_t pid) {
  std::string status;
  if (!read_process_file(of_process(pid, "status"), status)) return Refusal::System;
  return number_in(status, "\nThreads:", 10) == 1 ? Refusal::None : Refusal::Threads;
}

Refusal check_descriptors(pid_t pid) {
  struct stat info;
  for (int fd = 0; fd <= copy::kScriptDescriptor; ++fd)
    if (::stat(of_process(pid, ("fd/" + std::to_string(fd)).c_str()).c_str(), &info) < 0) return Refusal::Descriptors;
  if (!S_ISFIFO(info.st_mode)) return Refusal::Descriptors;
  // The size of this folder is the number of its entries, from Linux 6.2 on; before it is 0, and they are counted.
  std::string path = of_process(pid, "fd");
  if (::stat(path.c_str(), &info) == 0 && info.st_size > 0)
    return info.st_size == copy::kScriptDescriptor + 1 ? Refusal::None : Refusal::Descriptors;
  for (int fd = copy::kScriptDescriptor + 1; fd < 1024; ++fd)
    if (::lstat((path + "/" + std::to_string(fd)).c_str(), &info) == 0) return Refusal::Descriptors;
  return Refusal::None;
}

// Field `number` of /proc/PID/stat, counted from 1; the second has spaces and brackets of its own.
uint64_t stat_field(const std::string& text, int number) {
  size_t at = text.rfind(')');
  for (int i = 2; i < number && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

bool take_description(pid_t pid, HeldProgram& held, Header& header) {
  std::string text;
  if (!read_process_file(of_process(pid, "stat"), text)) return false;
  const struct {
    int field;
    __u64& value;
  } kFields[] = {{26, header.memory.start_code}, {27, header.memory.end_code}, {28, header.memory.start_stack},
                 {45, header.memory.start_data}, {46, header.memory.end_data}, {47, header.memory.start_brk},
                 {48, header.memory.arg_start},  {49, header.memory.arg_end},  {50, header.memory.env_start},
                 {51, header.memory.env_end}};
  for (const auto& each : kFields) each.value = stat_field(text, each.field);
  const long end = held.call(SYS_brk, 0);
  header.memory.brk = static_cast<__u64>(end);
  if (end < 0 || !read_process_file(of_process(pid, "auxv"), text) || text.size() > sizeof header.auxiliary)
    return false;
  std::memcpy(header.auxiliary, text.data(), text.size());
  header.auxiliary_size = static_cast<uint32_t>(text.size());
  if (!read_process_file(of_process(pid, "comm"), text)) return false;
  std::memcpy(header.name, text.data(), std::min(text.size() - 1, sizeof header.name - 1));
  return true;
}

}  // namespace

Refusal copy_program(const CopyOrder& order, int out) {
  if (order.script.size() >= copy::kLongestPath || order.mark.empty()) return Refusal::System;
  auto header = std::make_unique<Header>();
  header->magic = copy::kMagic;
  header->pid = static_cast<uint32_t>(order.pid);
  std::memcpy(header->script, order.script.c_str(), order.script.size() + 1);
  Refusal refusal = check_threads(order.pid);
  if (refusal != Refusal::None) return refusal;
  HeldProgram held(order.pid);
  if (refusal = held.hold(); refusal != Refusal::None) return refusal;
  take_registers(held.registers(), *header);
  if (refusal = check_threads(order.pid); refusal != Refusal::None) return refusal;
  if (refusal = check_descriptors(order.pid); refusal != Refusal::None) return refusal;
  if (refusal = take_signals(order.pid, held, *header); refusal != Refusal::None) return refusal;
  if (!take_thread(order.pid, held, *header) || !take_description(order.pid, held, *header)) return Refusal::System;
  if (refusal = take_areas(order.pid, *header); refusal != Refusal::None) return refusal;
  if (refusal = find_pages(order.pid, *header); refusal != Refusal::None) return refusal;
  if (refusal = write_pages(order.pid, order.mark, *header, out); refusal != Refusal::None) return refusal;
  const bool whole = sizeof kResumeProgram <= copy::kHeaderOffset &&
                     write_at(out, kResumeProgram, sizeof kResumeProgram, 0) &&
                     write_at(out, header.get(), sizeof *header, copy::kHeaderOffset);
  return whole ? Refusal::None : Refusal::System;
}

}  // namespace cove::init

#else

namespace cove::init {

copy::Refusal copy_program(const CopyOrder&, int) { return copy::Refusal::Architecture; }

}  // namespace cove::init

#endif
