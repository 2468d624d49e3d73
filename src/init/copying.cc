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

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "resume_program.h"

namespace cove::init {
namespace {

using copy::Header;
using copy::kPage;
using copy::Refusal;

constexpr uint64_t kMostBytes = 32 << 20;
constexpr size_t kMostText = 1 << 20;
constexpr uint64_t kMostReach = 4ull << 30;  // of its memory, with what it has not touched
constexpr uint32_t kDroppable = 0x08;        // MAP_DROPPABLE, from Linux 6.11 on
constexpr long kInstructionSize = 2;         // of a system call
constexpr long kRestarts = -512;             // ERESTARTSYS, which only a tracer sees
constexpr int kPatience = 200;               // looks, before it is taken for granted that it does something else
constexpr long kPause = 100'000;             // nanoseconds between two

std::string of_process(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// False also where it is longer than anything of a program that can be copied.
bool read_file(const std::string& path, std::string& text) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  text.clear();
  char piece[4096];
  for (ssize_t count; (count = ::read(file.get(), piece, sizeof piece)) != 0;) {
    if (count < 0 || text.size() > kMostText) return false;
    text.append(piece, static_cast<size_t>(count));
  }
  return true;
}

bool write_at(int fd, const void* data, size_t size, uint64_t offset) {
  return ::pwrite(fd, data, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The value of a line like "SigIgn:\t0000000001001000".
uint64_t number_in(std::string_view text, std::string_view name, int base) {
  size_t at = text.find(name);
  return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + name.size(), nullptr, base);
}

void pause_a_little() {
  timespec time = {0, kPause};
  ::nanosleep(&time, nullptr);
}

// A program that is held while it is copied. It goes on where it was, whatever becomes of the copy; it ends with the
// one who holds it.
class Held {
 public:
  explicit Held(pid_t pid) : pid_(pid) {}
  ~Held() {
    if (!stopped_) return;
    ::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
    ::ptrace(PTRACE_DETACH, pid_, nullptr, signal_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const user_regs_struct& registers() const { return registers_; }

  // Stops it in the read of its script; it may be on its way there.
  Refusal hold() {
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

  // Has it make a system call. -1 where that cannot be done, or fails.
  long call(long number, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
    user_regs_struct call = registers_;
    call.rax = static_cast<unsigned long long>(number);
    call.orig_rax = ~0ull;  // nothing is made anew when it is done
    call.rdi = a, call.rsi = b, call.rdx = c, call.r10 = d;
    call.rip -= kInstructionSize;
    if (::ptrace(PTRACE_SETREGS, pid_, nullptr, &call) < 0 || ::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) < 0)
      return -1;
    int status = 0;
    if (::waitpid(pid_, &status, __WALL) != pid_ || status >> 8 != SIGTRAP) return -1;
    if (::ptrace(PTRACE_GETREGS, pid_, nullptr, &call) < 0) return -1;
    return static_cast<long>(call.rax) < 0 ? -1 : static_cast<long>(call.rax);
  }

  bool read(uint64_t from, void* to, size_t size) const {
    iovec local = {to, size};
    iovec remote = {reinterpret_cast<void*>(from), size};
    return ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
  }

  // Has it make a call that writes an answer, far below its stack.
  template <typename Answer>
  bool ask(Answer& answer, long number, uint64_t a, int place, uint64_t d = 0) {
    const uint64_t scratch = (registers_.rsp - 2 * kPage) & ~uint64_t{15};
    const uint64_t b = place == 1 ? scratch : 0;
    const uint64_t c = place == 2 ? scratch : 0;
    return call(number, a, b, c, d) >= 0 && read(scratch, &answer, sizeof answer);
  }

 private:
  bool is_reading() const {
    return static_cast<long>(registers_.orig_rax) == SYS_read && static_cast<long>(registers_.rax) == kRestarts &&
           registers_.rdi == copy::kScriptDescriptor;
  }
  bool stop() {
    int status = 0;
    if (::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) < 0) return false;
    if (::waitpid(pid_, &status, __WALL) != pid_ || !WIFSTOPPED(status)) return false;
    // A signal that came first: it is passed on.
    signal_ = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
    stopped_ = ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_) == 0;
    return stopped_;
  }

  pid_t pid_;
  bool stopped_ = false;
  int signal_ = 0;
  user_regs_struct registers_ = {};
};

// --- what it is, beside its memory -----------------------------------------------------------------------------------

void take_registers(const user_regs_struct& from, Header& header) {
  header.registers = {from.rbx, from.rbp, from.r12,      from.r13, from.r14,
                      from.r15, from.rdi, from.rsi,      from.rdx, from.r10,
                      from.r8,  from.r9,  from.orig_rax, from.rsp, from.rip - kInstructionSize};
  header.thread_pointer = from.fs_base;
}

Refusal take_signals(pid_t pid, Held& held, Header& header) {
  std::string status;
  if (!read_file(of_process(pid, "status"), status)) return Refusal::System;
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

bool take_thread(pid_t pid, Held& held, Header& header) {
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
  if (!read_file(of_process(pid, "status"), status)) return Refusal::System;
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

bool take_description(pid_t pid, Held& held, Header& header) {
  std::string text;
  if (!read_file(of_process(pid, "stat"), text)) return false;
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
  if (end < 0 || !read_file(of_process(pid, "auxv"), text) || text.size() > sizeof header.auxiliary) return false;
  std::memcpy(header.auxiliary, text.data(), text.size());
  header.auxiliary_size = static_cast<uint32_t>(text.size());
  if (!read_file(of_process(pid, "comm"), text)) return false;
  std::memcpy(header.name, text.data(), std::min(text.size() - 1, sizeof header.name - 1));
  return true;
}

// --- its memory ------------------------------------------------------------------------------------------------------

// An area as /proc/PID/smaps has it.
struct MapsLine {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  std::string_view rights, name, flags;
};

bool parse_line(std::string_view text, MapsLine& line) {
  char rights[5] = {};
  int name = 0;
  const std::string whole(text);
  if (std::sscanf(whole.c_str(), "%lx-%lx %4s %lx %*s %lu %n", &line.start, &line.end, rights, &line.offset,
                  &line.inode, &name) < 5)
    return false;
  line.rights = text.substr(text.find(' ') + 1, 4);
  line.name = name > 0 && static_cast<size_t>(name) < text.size() ? text.substr(static_cast<size_t>(name)) : "";
  return true;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// The next area; its flags end what is said of it.
bool take_area(std::string_view& text, MapsLine& line) {
  constexpr std::string_view kFlags = "VmFlags:";
  if (!parse_line(take_line(text), line)) return false;
  while (!text.empty()) {
    std::string_view detail = take_line(text);
    if (!detail.starts_with(kFlags)) continue;
    line.flags = detail.substr(kFlags.size());
    return true;
  }
  return false;
}

bool has_flag(std::string_view flags, std::string_view flag) {
  for (size_t at = 0; at + 2 <= flags.size(); at += 3)
    if (flags.substr(at + 1, 2) == flag) return true;
  return false;
}

// Whether nothing is special about its memory but what a copy can have, too.
bool is_plain(std::string_view flags) {
  constexpr std::string_view kPlain = " rd wr ex sh mr mw me ms gd ac sd nr dw wf dp dd";
  for (size_t at = 0; at + 2 < flags.size(); at += 3)
    if (flags[at] != ' ' || !has_flag(kPlain, flags.substr(at + 1, 2))) return false;
  return true;
}

bool is_file_at(const std::string& path, uint64_t inode, struct stat& info) {
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_ino == inode;
}

// Below /usr, which is two overlays, the kernel names a file by its path in the lower one.
int file_index(const MapsLine& line, Header& header) {
  struct stat info;
  std::string path(line.name);
  if (!is_file_at(path, line.inode, info)) path = "/usr" + path;
  if (!is_file_at(path, line.inode, info) || path.size() >= copy::kLongestPath) return -1;
  for (uint32_t i = 0; i < header.files; ++i)
    if (path == header.file[i].path) return static_cast<int>(i);
  if (header.files == copy::kMostFiles) return -1;
  copy::File& file = header.file[header.files];
  std::memcpy(file.path, path.c_str(), path.size() + 1);
  file.inode = info.st_ino;
  file.size = static_cast<uint64_t>(info.st_size);
  file.changed_s = info.st_mtim.tv_sec;
  file.changed_ns = info.st_mtim.tv_nsec;
  file.touched_s = info.st_ctim.tv_sec;
  file.touched_ns = info.st_ctim.tv_nsec;
  return static_cast<int>(header.files++);
}

bool add_area(const MapsLine& line, Header& header) {
  const bool shared = line.rights[3] == 's';
  if (!is_plain(line.flags) || header.areas == copy::kMostAreas || (shared && line.rights[1] == 'w')) return false;
  copy::Area& area = header.area[header.areas++];
  area = {.start = line.start, .end = line.end, .offset = line.offset, .file = -1};
  area.protection = (line.rights[0] == 'r' ? PROT_READ : 0u) | (line.rights[1] == 'w' ? PROT_WRITE : 0u) |
                    (line.rights[2] == 'x' ? PROT_EXEC : 0u);
  area.flags = shared ? MAP_SHARED : MAP_PRIVATE;
  if (line.inode != 0) {
    area.file = file_index(line, header);
    return area.file >= 0;
  }
  if (shared) return false;
  area.flags |= MAP_ANONYMOUS | (line.name == "[stack]" ? MAP_GROWSDOWN : 0);
  // What no child may have, as the state of random numbers, no copy has either: it finds zeros, as a child would.
  if (has_flag(line.flags, "dp"))
    area.flags = kDroppable | MAP_ANONYMOUS;
  else if (has_flag(line.flags, "wf"))
    area.advice = MADV_WIPEONFORK;
  return true;
}

bool is_wiped(const copy::Area& area) {
  return area.advice == MADV_WIPEONFORK || (area.flags & kDroppable) == kDroppable;
}

bool add_special(const MapsLine& line, Header& header) {
  if (header.specials == copy::kMostSpecials) return false;
  // One after the other, and nothing behind the code: so they lie in the next process, too.
  const bool first = header.specials == 0;
  const copy::Special before = first ? copy::Special{line.start, 0} : header.special[header.specials - 1];
  if (header.vdso != 0 || before.start + before.size != line.start) return false;
  header.special[header.specials++] = {line.start, line.end - line.start};
  if (line.name == "[vdso]") header.vdso = line.start;
  return true;
}

bool is_executed(pid_t pid, const copy::File& file) {
  struct stat executed, there;
  return ::stat(of_process(pid, "exe").c_str(), &executed) == 0 && ::stat(file.path, &there) == 0 &&
         executed.st_dev == there.st_dev && executed.st_ino == there.st_ino;
}

Refusal take_areas(pid_t pid, Header& header) {
  std::string text;
  if (!read_file(of_process(pid, "smaps"), text)) return Refusal::Memory;
  for (std::string_view rest = text; !rest.empty();) {
    MapsLine line;
    if (!take_area(rest, line)) return Refusal::System;
    if (line.name == "[vsyscall]") continue;  // every process has it
    const bool special = line.name.starts_with("[vvar") || line.name == "[vdso]";
    if (!(special ? add_special(line, header) : add_area(line, header))) return Refusal::Memory;
  }
  for (header.program = 0; header.program < header.files; ++header.program)
    if (is_executed(pid, header.file[header.program])) break;
  return header.vdso != 0 && header.program < header.files ? Refusal::None : Refusal::Memory;
}

// Its own pages; those that are a file's as they are need not be copied.
Refusal find_pages(int pagemap, copy::Area& area, Header& header) {
  constexpr uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62, kOfFile = 1ull << 61;
  std::vector<uint64_t> entries((area.end - area.start) / kPage);
  const auto size = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
  if (::pread(pagemap, entries.data(), static_cast<size_t>(size),
              static_cast<off_t>(area.start / kPage * sizeof(uint64_t))) != size)
    return Refusal::System;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!(entries[i] & (kPresent | kSwapped)) || (entries[i] & kOfFile)) continue;
    area.filled = 1;
    const uint64_t page = area.start + i * kPage;
    copy::Run* last = header.runs == 0 ? nullptr : &header.run[header.runs - 1];
    if (last && last->start + last->size == page) {
      last->size += kPage;
      continue;
    }
    if (header.runs == copy::kMostRuns) return Refusal::Memory;
    header.run[header.runs++] = {page, kPage};
  }
  return Refusal::None;
}

Refusal find_pages(pid_t pid, Header& header) {
  UniqueFd pagemap(::open(of_process(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return Refusal::System;
  uint64_t reach = 0;
  for (uint32_t i = 0; i < header.areas; ++i) {
    if (is_wiped(header.area[i]) || (header.area[i].flags & MAP_SHARED)) continue;
    reach += header.area[i].end - header.area[i].start;
    if (reach > kMostReach) return Refusal::Memory;
    Refusal refusal = find_pages(pagemap.get(), header.area[i], header);
    if (refusal != Refusal::None) return refusal;
  }
  return Refusal::None;
}

// Reads the pages into memory, all after each other.
bool read_pages(pid_t pid, const Header& header, char* to, uint64_t size) {
  constexpr uint32_t kAtOnce = 512;
  for (uint32_t next = 0; next < header.runs;) {
    iovec remote[kAtOnce];
    iovec local = {to, 0};
    uint32_t count = 0;
    for (; count < kAtOnce && next < header.runs; ++count, ++next) {
      remote[count] = {reinterpret_cast<void*>(header.run[next].start), header.run[next].size};
      local.iov_len += header.run[next].size;
    }
    if (local.iov_len > size) return false;
    if (::process_vm_readv(pid, &local, 1, remote, count, 0) != static_cast<ssize_t>(local.iov_len)) return false;
    to += local.iov_len;
    size -= local.iov_len;
  }
  return size == 0;
}

class Mapping {
 public:
  Mapping(int fd, uint64_t offset, uint64_t size) : size_(size) {
    void* start =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(offset));
    if (start != MAP_FAILED) start_ = static_cast<char*>(start);
  }
  ~Mapping() {
    if (start_) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* start() const { return start_; }

 private:
  uint64_t size_;
  char* start_ = nullptr;
};

Refusal write_pages(const CopyOrder& order, Header& header, int out) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < header.runs; ++i) size += header.run[i].size;
  if (size == 0 || size > kMostBytes) return Refusal::Memory;
  header.data_offset = (copy::kHeaderOffset + sizeof header + kPage - 1) / kPage * kPage;
  if (::ftruncate(out, static_cast<off_t>(header.data_offset + size)) < 0) return Refusal::System;
  Mapping pages(out, header.data_offset, size);
  if (!pages.start() || !read_pages(order.pid, header, pages.start(), size)) return Refusal::System;
  const bool marked = ::memmem(pages.start(), size, order.mark.data(), order.mark.size()) != nullptr;
  return marked ? Refusal::None : Refusal::Unmarked;
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
  Held held(order.pid);
  if (refusal = held.hold(); refusal != Refusal::None) return refusal;
  take_registers(held.registers(), *header);
  if (refusal = check_threads(order.pid); refusal != Refusal::None) return refusal;
  if (refusal = check_descriptors(order.pid); refusal != Refusal::None) return refusal;
  if (refusal = take_signals(order.pid, held, *header); refusal != Refusal::None) return refusal;
  if (!take_thread(order.pid, held, *header) || !take_description(order.pid, held, *header)) return Refusal::System;
  if (refusal = take_areas(order.pid, *header); refusal != Refusal::None) return refusal;
  if (refusal = find_pages(order.pid, *header); refusal != Refusal::None) return refusal;
  if (refusal = write_pages(order, *header, out); refusal != Refusal::None) return refusal;
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
