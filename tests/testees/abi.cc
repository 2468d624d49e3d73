// Attempts to get around the filter by the other ways into the kernel that an x86-64 processor has.
#include <sys/syscall.h>
#include <unistd.h>

#include "testee.h"

namespace {

using namespace testee;

#if defined(__x86_64__)

constexpr long kX32 = 0x40000000;

// Numbers of the 32-bit table. Arguments must lie below 4 GiB: none of these needs a pointer.
enum Call32 : long { kGetpid = 20, kSetuid = 23, kPtrace = 26, kIoperm = 101, kUnshare = 310, kKeyctl = 288 };

Outcome call_32_bit(Call32 number, long first = 0, long second = 0) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(static_cast<long>(number)), "b"(first), "c"(second), "d"(0l), "S"(0l), "D"(0l)
               : "memory", "r8", "r9", "r10", "r11");
  if (result >= 0) return done();
  return denied(static_cast<int>(-result));
}

Outcome call_x32(long number, long first = 0, long second = 0) {
  return call(::syscall(number | kX32, first, second, 0, 0));
}

constexpr long kNewUser = 0x10000000;

constexpr Attempt kAttempts[] = {
    {"x32_getpid", [] { return call_x32(SYS_getpid); }},
    {"x32_unshare", [] { return call_x32(SYS_unshare, kNewUser); }},
    {"x32_keyctl", [] { return call_x32(SYS_keyctl); }},
    {"x32_ptrace", [] { return call_x32(521); }},
    {"x32_ioctl", [] { return call_x32(514, 0, 0x5412); }},
    {"x32_negative", [] { return call(::syscall(-1)); }},
    {"compat_getpid", [] { return call_32_bit(kGetpid); }},
    {"compat_unshare", [] { return call_32_bit(kUnshare, kNewUser); }},
    {"compat_keyctl", [] { return call_32_bit(kKeyctl); }},
    {"compat_ptrace", [] { return call_32_bit(kPtrace); }},
    {"compat_ioperm", [] { return call_32_bit(kIoperm, 0x80, 1); }},
    {"iopl", [] { return call(::syscall(SYS_iopl, 3)); }},
    {"ioperm", [] { return call(::syscall(SYS_ioperm, 0x80, 1, 1)); }},
    {"modify_ldt", [] { return call(::syscall(SYS_modify_ldt, 0, nullptr, 0)); }},
};

#else
constexpr Attempt kAttempts[] = {
    {"unknown_abi", [] { return call(::syscall(-1)); }},
};
#endif

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
