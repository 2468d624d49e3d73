// The first function of `cove`, before there is a C library: it may call none of its functions, and touch none of its
// variables. Where anything is not plain it does nothing, and leaves it to the rest of the program.
#include "client/head_start.h"

namespace cove::client {

HeadStart head_start_left = {};

}  // namespace cove::client

#if defined(__x86_64__)

#include <asm/unistd.h>

#include "client/quick_run.h"

namespace {

using cove::client::head_start_left;
using cove::client::kPlainRun;
using cove::client::raw;
using cove::client::raw_call;

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

// Of "cove run COMMAND…" or "cove run -- COMMAND…", in words that are text whatever they are taken for, the number of
// the word where the command begins. Else 0.
uint64_t find_command(uint64_t count, const char* const* words) {
  if (count < 3 || !is(words[1], "run")) return 0;
  const uint64_t first = is(words[2], "--") ? 3 : 2;
  if (first == count || words[first][0] == '\0' || (first == 2 && words[2][0] == '-')) return 0;
  for (uint64_t i = first; i < count; ++i)
    if (!is_ascii(words[i])) return 0;
  return first;
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
      state = state == nullptr ? value : state;  // of several, the first counts, as for the C library
    else if (after(*variables, "COVE_") && has_value(*variables))
      return false;
    if (const char* value = after(*variables, "XDG_RUNTIME_DIR="); value != nullptr && runtime == nullptr)
      runtime = value;
  }
  if (state != nullptr && *state != '\0') return set_path(place, state, "/run/api.sock");
  if (raw_call(__NR_geteuid) == 0) return set_path(place, "/run/cove/api.sock", "");
  return runtime != nullptr && *runtime != '\0' && set_path(place, runtime, "/cove/api.sock");
}

bool ask(uint64_t fd, const sockaddr_un& place) {
  if (raw_call(__NR_connect, fd, raw(&place), sizeof place) < 0) return false;
  return raw_call(__NR_sendto, fd, raw(kPlainRun.data()), kPlainRun.size(), MSG_NOSIGNAL) ==
         static_cast<long>(kPlainRun.size());
}

}  // namespace

extern "C" {

[[gnu::visibility("hidden")]] void cove_head_start(const uint64_t* stack) {
  const uint64_t count = *stack;
  const auto* words = reinterpret_cast<const char* const*>(stack + 1);
  const uint64_t first = find_command(count, words);
  if (first == 0 || !find_socket(words + count + 1, head_start_left.place)) return;
  const long fd = raw_call(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // Where a standard stream is closed, nothing else may take its place.
  if (fd <= 2 || !ask(static_cast<uint64_t>(fd), head_start_left.place)) {
    raw_call(__NR_close, static_cast<uint64_t>(fd));
    return;
  }
  head_start_left.fd = static_cast<int>(fd);
  cove::client::run_quickly(head_start_left, count - first, words + first);
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
