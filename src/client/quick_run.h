#pragma once

#include <cstdint>

#include "client/head_start.h"

namespace cove::client {

// The system call itself: there is no library yet.
inline long raw_call(long number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  long result;
  register uint64_t fourth __asm__("r10") = d;
  register uint64_t fifth __asm__("r8") = 0;
  register uint64_t sixth __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

template <typename T>
uint64_t raw(const T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Goes on with a run that was asked for over `run.fd`: ends the process where the command ended soon and in a plain
// way; returns where the rest is left to others.
[[gnu::visibility("hidden")]] void run_quickly(HeadStart& run, uint64_t count, const char* const* command);

}  // namespace cove::client
