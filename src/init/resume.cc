// The program in front of a copy: puts up the memory of a program that waited in another sandbox, and goes on as it.
//
// It runs as the program that it becomes: with its rights, behind all fences, in its control groups. One capability
// over the sandbox's own user namespace comes with it, for what /proc/self/exe says, and goes before anything else of
// the copy counts.
//
// Everything of a fresh process but this code goes on the way, its stack too. So it works in a nest of its own, at an
// address that nobody can foretell, and leaves a page there with the last instructions.
#include <asm/prctl.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "init/copy_format.h"
#include "init/hash_renewal.h"

extern "C" {
[[gnu::visibility("hidden")]] extern const char program_start[];
[[gnu::visibility("hidden")]] extern const char program_end[];
// Lets the nest go but for the page with its own instructions, and loads the registers.
[[noreturn, gnu::visibility("hidden")]] void leave(const void* registers, uint64_t nest, uint64_t nest_end);
[[noreturn]] void begin(const uint64_t* stack);
}

namespace cove::init::copy {
namespace {

struct Vector {
  uint64_t start;
  uint64_t size;
};

constexpr uint32_t kVectors = 512;
constexpr uint64_t kCodeSize = 4 * kPage;
constexpr uint64_t kNestSize = 1 << 20;
constexpr uint64_t kPassageSize =
    8 << 20;  // behind the nest: what is moved rests there on its way, and what is needed once
constexpr uint64_t kWorthwhile = 4 * kPage;  // to be made at once

// All that it knows, in the nest behind the code.
struct Work {
  uint64_t nest;
  uint64_t vdso;  // where this process has it
  int files[kMostFiles];
  Vector vectors[kVectors];
  Header header;

  uint64_t passage() const { return nest + kNestSize; }
  uint64_t end() const { return passage() + kPassageSize; }
};

static_assert(kCodeSize + sizeof(Work) + 64 * 1024 < kNestSize);
static_assert(hashes::kMostPlanBytes + hashes::kMostSetBytes <= kPassageSize);

long call(long number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0, uint64_t f = 0) {
  long result;
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t r8 __asm__("r8") = e;
  register uint64_t r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

[[noreturn]] void give_up() {
  call(__NR_exit_group, kNotResumed);
  __builtin_unreachable();
}

long must(long result) {
  if (result < 0 && result > -4096) give_up();
  return result;
}

void must_be(bool fact) {
  if (!fact) give_up();
}

void read_header(Work& work) {
  Header& header = work.header;
  const long size = call(__NR_pread64, kDescriptor, address(&header), sizeof header, kHeaderOffset);
  must_be(size == static_cast<long>(sizeof header) && header.magic == kMagic);
  must_be(header.areas <= kMostAreas && header.runs <= kMostRuns && header.files <= kMostFiles);
  must_be(header.specials <= kMostSpecials && header.program < header.files);
  must_be(header.auxiliary_size <= sizeof header.auxiliary);
  must_be(call(__NR_getpid) == static_cast<long>(header.pid));
}

// Nothing that is put up comes to lie where this works.
void check_places(const Work& work) {
  auto is_free = [&](uint64_t start, uint64_t end) { return start < end && (end <= work.nest || start >= work.end()); };
  const Header& header = work.header;
  uint64_t specials = 0;
  for (uint32_t i = 0; i < header.specials; ++i) {
    must_be(is_free(header.special[i].start, header.special[i].start + header.special[i].size));
    specials += header.special[i].size;
  }
  must_be(specials <= kPassageSize);
  for (uint32_t i = 0; i < header.areas; ++i) must_be(is_free(header.area[i].start, header.area[i].end));
}

void move(uint64_t from, uint64_t size, uint64_t to) {
  must(call(__NR_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to));
}

// Of what the kernel gave this process nothing stays where it is.
void clear_memory(const Work& work) {
  const Header& header = work.header;
  uint64_t passage = work.passage();
  for (uint32_t i = 0; i < header.specials; ++i) {
    const Special& special = header.special[i];
    move(work.vdso + special.start - header.vdso, special.size, passage);
    passage += special.size;
  }
  must(call(__NR_munmap, 0, work.nest));
  must(call(__NR_munmap, passage, kLastAddress - passage));
  passage = work.passage();
  for (uint32_t i = 0; i < header.specials; ++i) {
    move(passage, header.special[i].size, header.special[i].start);
    passage += header.special[i].size;
  }
}

void open_files(Work& work) {
  for (uint32_t i = 0; i < work.header.files; ++i) {
    const File& file = work.header.file[i];
    work.files[i] = static_cast<int>(must(call(__NR_open, address(file.path), O_RDONLY | O_CLOEXEC)));
    struct stat found;
    must(call(__NR_fstat, static_cast<uint64_t>(work.files[i]), address(&found)));
    must_be(found.st_ino == file.inode && static_cast<uint64_t>(found.st_size) == file.size);
    must_be(static_cast<int64_t>(found.st_mtime) == file.changed_s &&
            static_cast<int64_t>(found.st_mtime_nsec) == file.changed_ns);
    must_be(static_cast<int64_t>(found.st_ctime) == file.touched_s &&
            static_cast<int64_t>(found.st_ctime_nsec) == file.touched_ns);
  }
}

void map_areas(const Work& work) {
  for (uint32_t i = 0; i < work.header.areas; ++i) {
    const Area& area = work.header.area[i];
    must_be(area.file < static_cast<int32_t>(work.header.files));
    const uint64_t protection = area.protection | (area.filled ? PROT_WRITE : 0u);
    const int file = area.file < 0 ? -1 : work.files[area.file];
    must(call(__NR_mmap, area.start, area.end - area.start, protection, area.flags | MAP_FIXED,
              static_cast<uint64_t>(file), area.offset));
    if (area.advice != 0) must(call(__NR_madvise, area.start, area.end - area.start, area.advice));
  }
}

void fill_pages(Work& work) {
  const Header& header = work.header;
  uint64_t offset = header.data_offset;
  for (uint32_t next = 0; next < header.runs;) {
    uint64_t size = 0;
    uint32_t count = 0;
    for (; count < kVectors && next < header.runs; ++count, ++next) {
      const Run& run = header.run[next];
      // Many pages at once cost less than each by itself; where the kernel does not know this, nothing is lost.
      if (run.size >= kWorthwhile) call(__NR_madvise, run.start, run.size, MADV_POPULATE_WRITE);
      work.vectors[count] = {run.start, run.size};
      size += run.size;
    }
    must_be(call(__NR_preadv, kDescriptor, address(work.vectors), count, offset) == static_cast<long>(size));
    offset += size;
  }
}

// So far all that was filled can be written to.
void protect_areas(const Header& header) {
  for (uint32_t i = 0; i < header.areas; ++i) {
    const Area& area = header.area[i];
    if (area.filled && !(area.protection & PROT_WRITE))
      must(call(__NR_mprotect, area.start, area.end - area.start, area.protection));
  }
}

// No two copies have one seed for their hashes.
void renew_hashes(const Work& work) {
  const hashes::Plan& plan = work.header.hashes;
  if (plan.secret == 0) return;
  must_be(plan.size() <= hashes::kMostPlanBytes);
  unsigned char seed[hashes::kSecretSize];
  must_be(call(__NR_getrandom, address(seed), sizeof seed, 0) == sizeof seed);
  const uint64_t tables = work.passage(), scratch = tables + hashes::kMostPlanBytes;
  must(call(__NR_mmap, tables, plan.size(), PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, kDescriptor,
            plan.offset));
  must(call(__NR_mmap, scratch, hashes::kMostSetBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
            ~0ull, 0));
  hashes::renew_hashes(plan, seed, reinterpret_cast<void*>(tables), reinterpret_cast<void*>(scratch));
  must(call(__NR_munmap, tables, kPassageSize));
}

// What /proc tells of it.
void describe(Work& work) {
  Header& header = work.header;
  header.memory.exe_fd = static_cast<uint32_t>(work.files[header.program]);
  header.memory.auxv = reinterpret_cast<decltype(header.memory.auxv)>(header.auxiliary);
  header.memory.auxv_size = header.auxiliary_size;
  must(call(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, address(&header.memory), sizeof header.memory));
  must(call(__NR_prctl, PR_SET_NAME, address(header.name)));
  for (uint32_t i = 0; i < header.files; ++i) call(__NR_close, static_cast<uint64_t>(work.files[i]));
}

// The one that came for this; what the sandbox's root has stays.
void drop_capability() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  must(call(__NR_capget, address(&header), address(sets)));
  const uint32_t others = ~(1u << kCapability % 32);
  sets[kCapability / 32].permitted &= others;
  sets[kCapability / 32].effective &= others;
  sets[0].inheritable = sets[1].inheritable = 0;
  must(call(__NR_capset, address(&header), address(sets)));
}

void restore_signals(const Header& header) {
  constexpr Action kIgnore = {1, 0, 0, 0};
  for (int i = 0; i < kSignals; ++i) {
    const uint64_t number = static_cast<uint64_t>(i) + 1;
    const bool ignored = header.ignored_signals >> i & 1;
    if (!ignored && header.actions[i].handler == 0) continue;
    must(call(__NR_rt_sigaction, number, address(ignored ? &kIgnore : &header.actions[i]), 0, sizeof(uint64_t)));
  }
  constexpr uint64_t kSetMask = 2;
  must(call(__NR_rt_sigprocmask, kSetMask, address(&header.signal_mask), 0, sizeof(uint64_t)));
}

void restore_thread(const Header& header) {
  must(call(__NR_arch_prctl, ARCH_SET_FS, header.thread_pointer));
  must(call(__NR_set_robust_list, header.robust_list, header.robust_list_size));
  must(call(__NR_set_tid_address, header.tid_address));
  if (header.rseq != 0) must(call(__NR_rseq, header.rseq, header.rseq_size, 0, header.rseq_signature));
}

// The script is a pipe with a name; whoever knows the code comes to its other end.
void open_script(const Header& header) {
  must(call(__NR_close, kDescriptor));
  must_be(call(__NR_open, address(header.script), O_RDONLY | O_CLOEXEC) == kScriptDescriptor);
}

[[noreturn]] void resume(Work& work) {
  read_header(work);
  check_places(work);
  clear_memory(work);
  open_files(work);
  map_areas(work);
  fill_pages(work);
  renew_hashes(work);
  protect_areas(work.header);
  describe(work);
  drop_capability();
  restore_signals(work.header);
  restore_thread(work.header);
  open_script(work.header);
  // What is below the stack, and below what a function may use there without saying so, is nobody's.
  constexpr uint64_t kRedZone = 128;
  auto* registers = reinterpret_cast<Registers*>((work.header.registers.rsp - kRedZone - sizeof(Registers)) & ~15ull);
  *registers = work.header.registers;
  leave(registers, work.nest, work.nest + kNestSize);
}

// Between where the kernel puts programs that lie where they like and those that do not: nobody else is there.
uint64_t find_nest() {
  constexpr uint64_t kFirst = 0x1000'0000'0000, kRange = 0x3000'0000'0000;
  uint64_t number = 0;
  must_be(call(__NR_getrandom, address(&number), sizeof number, 0) == sizeof number);
  return kFirst + number % (kRange / kPage) * kPage;
}

// Into memory that is of no file: /proc/self/exe can change only when nothing of the old one is mapped.
[[noreturn]] void settle_in_nest(uint64_t vdso) {
  const uint64_t nest = find_nest();
  must(call(__NR_mmap, nest, kNestSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
            ~0ull, 0));
  const auto size = static_cast<uint64_t>(program_end - program_start);
  must_be(size <= kCodeSize);
  auto* to = reinterpret_cast<uint64_t*>(nest);
  auto* from = reinterpret_cast<const uint64_t*>(program_start);
  for (uint64_t i = 0; i < size; i += sizeof(uint64_t)) *to++ = *from++;
  must(call(__NR_mprotect, nest, kCodeSize, PROT_READ | PROT_EXEC));
  auto* work = reinterpret_cast<Work*>(nest + kCodeSize);
  work->nest = nest;
  work->vdso = vdso;
  const uint64_t entry = nest + (reinterpret_cast<uint64_t>(&resume) - address(program_start));
  __asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tcall *%1" ::"r"(nest + kNestSize), "r"(entry), "D"(work)
                   : "memory");
  __builtin_unreachable();
}

}  // namespace
}  // namespace cove::init::copy

extern "C" {

void begin(const uint64_t* stack) {
  constexpr uint64_t kVdso = 33;  // AT_SYSINFO_EHDR
  const uint64_t* entry = stack + 1 + *stack + 1;
  while (*entry != 0) ++entry;
  for (++entry; *entry != 0; entry += 2)
    if (*entry == kVdso) cove::init::copy::settle_in_nest(entry[1]);
  cove::init::copy::give_up();
}

// The compiler may ask for these.
void* memcpy(void* to, const void* from, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
void* memset(void* to, int value, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) static_cast<char*>(to)[i] = static_cast<char>(value);
  return to;
}

}  // extern "C"

// The registers are in the order of the structure. 11 is munmap.
__asm__(R"(
.text
.globl _start
_start:
  mov %rsp, %rdi
  and $-16, %rsp
  call begin

.section .text.leave, "ax"
.balign 4096
.globl leave
leave:
  mov %rdi, %rsp
  mov %rdx, %r12
  lea leave(%rip), %rbx
  mov %rsi, %rdi
  mov %rbx, %rsi
  sub %rdi, %rsi
  mov $11, %eax
  syscall
  lea 4096(%rbx), %rdi
  mov %r12, %rsi
  sub %rdi, %rsi
  mov $11, %eax
  syscall
  mov 0(%rsp), %rbx
  mov 8(%rsp), %rbp
  mov 16(%rsp), %r12
  mov 24(%rsp), %r13
  mov 32(%rsp), %r14
  mov 40(%rsp), %r15
  mov 48(%rsp), %rdi
  mov 56(%rsp), %rsi
  mov 64(%rsp), %rdx
  mov 72(%rsp), %r10
  mov 80(%rsp), %r8
  mov 88(%rsp), %r9
  mov 96(%rsp), %rax
  mov 112(%rsp), %r11
  mov 104(%rsp), %rsp
  jmp *%r11
.text
)");
