// The first function of `cove`, before there is a C library: it may call none of its functions, and touch none of its
// variables. Where anything is not plain it does nothing, and leaves it to the rest of the program.
#include "client/head_start.h"

namespace cove::client {

HeadStart head_start_left = {};

}  // namespace cove::client

#if defined(__x86_64__)

#include <asm/unistd.h>

#include <cstdint>

namespace {

using cove::client::head_start_left;

long call(long number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  long result;
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t none __asm__("r8") = 0;
  register uint64_t nothing __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(none), "r"(nothing)
                   : "rcx", "r11", "memory");
  return result;
}

bool is(const char* word, const char* other) {
  for (; *word == *other; ++word, ++other)
    if (*word == '\0') return true;
  return false;
}

// What follows the beginning, or nothing.
const char* after(const char* word, const char* beginning) {
  for (; *beginning != '\0'; ++word, ++beginning)
    if (*word != *beginning) return nullptr;
  return word;
}

bool is_ascii(const char* word) {
  for (; *word != '\0'; ++word)
    if (static_cast<unsigned char>(*word) >= 0x80) return false;
  return true;
}

// "cove run COMMAND…" or "cove run -- COMMAND…", in words that are text whatever they are taken for.
bool is_plain_run(uint64_t count, const char* const* words) {
  if (count < 3 || !is(words[1], "run")) return false;
  const bool marked = is(words[2], "--");
  if (marked ? count < 4 : words[2][0] == '-' || words[2][0] == '\0') return false;
  for (uint64_t i = 2; i < count; ++i)
    if (!is_ascii(words[i])) return false;
  return true;
}

bool set_path(sockaddr_un& place, const char* first, const char* second) {
  size_t size = 0;
  for (const char* part : {first, second})
    for (; *part != '\0'; ++part) {
      if (size + 1 == sizeof place.sun_path) return false;
      place.sun_path[size++] = *part;
    }
  place.sun_path[size] = '\0';
  place.sun_family = AF_UNIX;
  return true;
}

bool has_value(const char* variable) {
  while (*variable != '\0' && *variable != '=') ++variable;
  return *variable == '=' && variable[1] != '\0';
}

// The user's own server (own_socket()), where no variable of Cove's but its state folder says anything.
bool find_socket(const char* const* variables, sockaddr_un& place) {
  const char* state = nullptr;
  const char* runtime = nullptr;
  for (; *variables != nullptr; ++variables) {
    if (const char* value = after(*variables, "COVE_STATE="))
      state = value;
    else if (after(*variables, "COVE_") && has_value(*variables))
      return false;
    if (const char* value = after(*variables, "XDG_RUNTIME_DIR=")) runtime = value;
  }
  if (state != nullptr && *state != '\0') return set_path(place, state, "/run/api.sock");
  if (call(__NR_geteuid) == 0) return set_path(place, "/run/cove/api.sock", "");
  return runtime != nullptr && *runtime != '\0' && set_path(place, runtime, "/cove/api.sock");
}

bool ask(uint64_t fd, const sockaddr_un& place) {
  using cove::client::kPlainRun;
  if (call(__NR_connect, fd, reinterpret_cast<uint64_t>(&place), sizeof place) < 0) return false;
  const auto size = static_cast<long>(kPlainRun.size());
  return call(__NR_sendto, fd, reinterpret_cast<uint64_t>(kPlainRun.data()), static_cast<uint64_t>(size),
              MSG_NOSIGNAL) == size;
}

}  // namespace

extern "C" {

[[gnu::visibility("hidden")]] void cove_head_start(const uint64_t* stack) {
  const auto* words = reinterpret_cast<const char* const*>(stack + 1);
  if (!is_plain_run(*stack, words) || !find_socket(words + *stack + 1, head_start_left.place)) return;
  const long fd = call(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // Where a standard stream is closed, nothing else may take its place.
  if (fd > 2 && ask(static_cast<uint64_t>(fd), head_start_left.place))
    head_start_left.fd = static_cast<int>(fd);
  else
    call(__NR_close, static_cast<uint64_t>(fd));
}

}  // extern "C"

// Then all is as the kernel left it, and the C library's own beginning follows.
__asm__(R"(
.text
.globl cove_begin
.hidden cove_begin
cove_begin:
  mov %rdx, %rbx
  mov %rsp, %rbp
  mov %rsp, %rdi
  and $-16, %rsp
  call cove_head_start
  mov %rbp, %rsp
  mov %rbx, %rdx
  xor %ebx, %ebx
  xor %ebp, %ebp
  jmp _start
)");

#endif
