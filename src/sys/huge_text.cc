#include "sys/huge_text.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>

extern "C" char __executable_start;  // of the linker: where the program begins

namespace cove::sys {
namespace {

constexpr uintptr_t kHuge = 2 << 20;

uintptr_t round_up(uintptr_t address) { return (address + kHuge - 1) & ~(kHuge - 1); }

struct Range {
  uintptr_t begin = 0, end = 0;
};

// The code, where it has the huge pages that it lies in for itself.
Range find_text() {
  const auto base = reinterpret_cast<uintptr_t>(&__executable_start);
  std::span segments(reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR)), ::getauxval(AT_PHNUM));
  Range text;
  for (const ElfW(Phdr) & each : segments)
    if (each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0)
      text = {base + each.p_vaddr, base + each.p_vaddr + each.p_memsz};
  if (text.begin % kHuge != 0) return {};
  for (const ElfW(Phdr) & each : segments) {
    const Range other{base + each.p_vaddr, base + each.p_vaddr + each.p_memsz};
    const bool apart = other.end <= text.begin || other.begin >= round_up(text.end);
    if (each.p_type == PT_LOAD && (each.p_flags & PF_X) == 0 && !apart) return {};
  }
  return text;
}

}  // namespace

void move_text_to_huge_pages() {
  const Range text = find_text();
  const size_t size = round_up(text.end) - text.begin;
  if (size == 0) return;
  // Behind the code, up to the end of its last huge page, there must be nothing.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t last = (text.end + page - 1) & ~(page - 1);
  void* rest = reinterpret_cast<void*>(last);
  constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (text.begin + size > last && ::mmap(rest, text.begin + size - last, PROT_NONE, kReserve, -1, 0) != rest) return;
  void* room = ::mmap(nullptr, size + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  void* made = reinterpret_cast<void*>(round_up(reinterpret_cast<uintptr_t>(room)));
  void* place = reinterpret_cast<void*>(text.begin);
  if (::madvise(made, size, MADV_HUGEPAGE) == 0) {
    std::memcpy(made, place, text.end - text.begin);
    // In one step: this code goes on in the copy.
    if (::mprotect(made, size, PROT_READ | PROT_EXEC) == 0)
      static_cast<void>(::mremap(made, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place));
  }
  ::munmap(room, size + kHuge);
}

}  // namespace cove::sys
