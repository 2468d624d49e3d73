#pragma once

#include <linux/prctl.h>

#include <cstdint>

#include "init/hash_format.h"

// A copy of a program that waits for its script: an executable file that goes on as that program, in another sandbox
// that was made alike. docs/formats/program-copy.md describes it. Process 1 writes it (copying.cc); the program in
// front of it (resume.cc) reads it, and links to nothing: what is here must do without a library.
namespace cove::init::copy {

inline constexpr uint64_t kMagic = 0x32'79'70'6f'63'65'76'6f;  // "ovecopy2"
inline constexpr uint64_t kHeaderOffset = 16 * 1024;           // the program lies before it
inline constexpr int kDescriptor = 4;                          // where the program finds the file that it is of
inline constexpr int kScriptDescriptor = 3;                    // the script's, the only one beside the standard streams
inline constexpr uint32_t kMostAreas = 384;
inline constexpr uint32_t kMostRuns = 2048;
inline constexpr uint32_t kMostFiles = 96;
inline constexpr uint32_t kMostSpecials = 4;
inline constexpr uint32_t kLongestPath = 192;
inline constexpr int kSignals = 64;
inline constexpr uint32_t kCapability =
    40;  // CAP_CHECKPOINT_RESTORE, from Linux 5.9 on: what it needs to say which program it is
inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kCallSize = 2;  // of the instruction that makes a system call

inline constexpr uint64_t kLastAddress = 0x7fff'ffff'f000;

// A range of memory. `file` is an index, or -1.
struct Area {
  uint64_t start;
  uint64_t end;
  uint64_t offset;
  int32_t file;
  uint32_t protection;  // PROT_…
  uint32_t flags;       // MAP_…
  uint32_t advice;      // MADV_…, or 0
  uint32_t filled;      // some of its pages are in the copy
};

// Pages that are in the copy, one run after the other.
struct Run {
  uint64_t start;
  uint64_t size;
};

// A file that is mapped: it must be the same one in the other sandbox.
struct File {
  char path[kLongestPath];
  uint64_t inode;
  uint64_t size;
  int64_t changed_s;  // its content
  int64_t changed_ns;
  int64_t touched_s;  // anything of it
  int64_t touched_ns;
};

// As rt_sigaction(2) has it.
struct Action {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

// The kernel's own pages: clocks and the code that reads them.
struct Special {
  uint64_t start;
  uint64_t size;
};

// At the system call in which it waits, which is made anew.
struct Registers {
  uint64_t rbx, rbp, r12, r13, r14, r15, rdi, rsi, rdx, r10, r8, r9, rax, rsp, rip;
};

struct Header {
  uint64_t magic;
  Registers registers;
  uint64_t thread_pointer;
  uint64_t robust_list, robust_list_size;
  uint64_t rseq, rseq_size, rseq_signature;
  uint64_t tid_address;
  uint64_t signal_mask, ignored_signals;
  uint64_t vdso;         // the start of the last of the specials
  uint64_t data_offset;  // of the pages
  hashes::Plan hashes;
  uint32_t pid;
  uint32_t areas, runs, files, specials;
  uint32_t program;  // the file that is executed, an index
  prctl_mm_map memory;
  uint64_t auxiliary[64];
  uint32_t auxiliary_size;
  char name[16];
  char script[kLongestPath];
  Action actions[kSignals];
  Special special[kMostSpecials];
  File file[kMostFiles];
  Area area[kMostAreas];
  Run run[kMostRuns];
};

// How the program in front ends where it cannot go on.
inline constexpr int kNotResumed = 125;

// Why no copy was made.
enum class Refusal : uint32_t {
  None = 0,
  System = 1,    // a system call failed
  NotWaiting,    // it does something else
  Threads,       // it has more than one
  Descriptors,   // it has opened others than its script
  Memory,        // it shares memory, or has more of it than a copy may have
  Signals,       // it has a stack of its own for them
  Unmarked,      // it does not say that it may be copied
  Hashes,        // it has hashes of which it cannot be told how they would be with another seed
  SingleId,      // users are played here, in namespaces of their own
  Architecture,  // copies are made on x86-64 only
};

}  // namespace cove::init::copy
