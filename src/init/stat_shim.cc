// A library that is preloaded into programs in gVisor if its statx(2) rejects a flag that has no effect there and that
// ls(1) and others always set. It depends on no other library, so it works with any C library of an image.
#include <linux/stat.h>
#include <sys/syscall.h>

namespace {

constexpr int kNoAutomount = 0x800;

long system_call(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#endif
}

}  // namespace

extern "C" int* __errno_location();

extern "C" int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) {
  long result = system_call(SYS_statx, folder, reinterpret_cast<long>(path), flags & ~kNoAutomount, mask,
                            reinterpret_cast<long>(out));
  if (result >= 0) return 0;
  *__errno_location() = static_cast<int>(-result);
  return -1;
}
