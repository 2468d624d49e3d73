#include "runtime/native/memory_watch.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "base/unique_fd.h"
#include "init/seccomp/policy.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::native {
namespace {

// Bytes of one file in /proc. Enough for about 100,000 mappings, more than ordinary programs have.
constexpr size_t kMostText = 16 << 20;
// Bytes of all files of one check: about a second of reading.
constexpr size_t kMostTextOfLook = 128 << 20;
constexpr uint64_t kSemaphoreBytes = 64;

// The result of one check of the sandbox.
class Look {
 public:
  // False once there was more to read than one check reads: memory may be hidden behind it.
  bool is_complete() const { return complete_; }

  std::string read(const std::string& path) {
    std::string text = sys::read_file(path, kMostText).value_or(std::string());
    read_ += text.size();
    if (text.size() >= kMostText || read_ > kMostTextOfLook) complete_ = false;
    return text;
  }

 private:
  size_t read_ = 0;
  bool complete_ = true;
};

// The key includes the preceding newline, because a program may be named like a key.
uint64_t kib_after(std::string_view text, std::string_view key) {
  size_t line = text.find(key);
  if (line == text.npos) return 0;
  unsigned long kib = 0;
  return std::sscanf(text.data() + line + key.size(), "%lu", &kib) == 1 ? uint64_t{kib} * 1024 : 0;
}

// Quick but too high: pages that processes share after a fork count for each of them.
uint64_t private_bytes(Look& look, const std::string& process) {
  const std::string text = look.read(concat("/proc/", process, "/status"));
  return kib_after(text, "\nRssAnon:") + kib_after(text, "\nVmSwap:");
}

// Slow but exact: shared pages are divided among the processes that share them.
uint64_t proportional_bytes(Look& look, const std::string& process) {
  const std::string text = look.read(concat("/proc/", process, "/smaps_rollup"));
  return kib_after(text, "\nPss_Anon:") + kib_after(text, "\nSwapPss:");
}

uint64_t sum(Look& look, const std::vector<std::string>& processes, uint64_t (*measure)(Look&, const std::string&)) {
  uint64_t bytes = 0;
  for (const std::string& process : processes) bytes += measure(look, process);
  return bytes;
}

// The device of the kernel's internal file system for shared memory, as in /proc/PID/maps.
std::string shared_memory_device() {
  struct stat info;
  const UniqueFd file(::memfd_create("cove", MFD_CLOEXEC));
  if (!file || ::fstat(file.get(), &info) < 0) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%02x:%02x", major(info.st_dev), minor(info.st_dev));
  return text;
}

std::string_view next_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = std::min(line.find(' ', begin), line.size());
  std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// Adds the inodes of anonymous shared memory, as in
// "7f52a0000000-7f52a1000000 rw-s 00000000 00:01 1034   /dev/zero (deleted)". The name may differ.
void add_shared_inodes(std::string_view maps, std::string_view device, std::set<std::string, std::less<>>& inodes) {
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    next_word(line);
    if (!next_word(line).ends_with('s')) continue;
    next_word(line);
    if (next_word(line) != device) continue;
    const std::string_view inode = next_word(line);
    // System V shared memory is counted separately.
    if (!next_word(line).starts_with("/SYSV") && !inodes.contains(inode)) inodes.emplace(inode);
  }
}

// How much of it is in use is not visible: unmapped pages stay allocated while any page of the same inode is mapped. So
// each inode counts as the maximum that the seccomp filter allows to be mapped at once.
uint64_t shared_bytes(Look& look, const std::vector<std::string>& processes) {
  static const std::string device = shared_memory_device();
  std::set<std::string, std::less<>> inodes;
  for (const std::string& process : processes)
    add_shared_inodes(look.read(concat("/proc/", process, "/maps")), device, inodes);
  return inodes.size() * seccomp::kMostSharedMapping;
}

// Sums a column, counted from 0, of a table with a heading. For "tx:rx" the second value counts.
uint64_t sum_of_column(Look& look, const char* path, size_t column, int base) {
  uint64_t sum = 0;
  const std::string text = look.read(path);
  for (size_t line = text.find('\n'); line != text.npos; line = text.find('\n', line + 1)) {
    size_t at = line + 1;
    for (size_t i = 0;; ++i) {
      at = text.find_first_not_of(' ', at);
      if (i == column || at == text.npos) break;
      at = text.find_first_of(" \n", at);
    }
    if (at == text.npos) break;
    const std::string word = text.substr(at, text.find_first_of(" \n", at) - at);
    const size_t colon = word.find(':');
    sum += std::strtoull(word.c_str() + (colon == word.npos ? 0 : colon + 1), nullptr, base);
  }
  return sum;
}

uint64_t socket_bytes(Look& look) {
  return sum_of_column(look, "/proc/1/net/udp", 4, 16) + sum_of_column(look, "/proc/1/net/udp6", 4, 16) +
         sum_of_column(look, "/proc/1/net/netlink", 4, 10);
}

uint64_t system_v_bytes(Look& look) {
  return sum_of_column(look, "/proc/sysvipc/shm", 14, 10) + sum_of_column(look, "/proc/sysvipc/shm", 15, 10) +
         sum_of_column(look, "/proc/sysvipc/msg", 3, 10) +
         sum_of_column(look, "/proc/sysvipc/sem", 3, 10) * kSemaphoreBytes;
}

uint64_t file_system_bytes(const char* path) {
  struct statfs info;
  if (::statfs(path, &info) < 0) return 0;
  return (info.f_blocks - info.f_bfree) * static_cast<uint64_t>(info.f_bsize);
}

}  // namespace

bool memory_exceeds(uint64_t bytes, LayerKind layer, int process_1) {
  // Every time, because process 1 may not have created its namespaces yet.
  static_cast<void>(sys::setns(process_1, CLONE_NEWIPC));
  Result<std::vector<std::string>> processes = sys::list_folder("/proc");
  if (!processes) return false;
  std::erase_if(*processes, [](const std::string& name) { return name[0] < '1' || name[0] > '9'; });
  Look look;
  uint64_t others = file_system_bytes("/dev/shm") + system_v_bytes(look) + socket_bytes(look);
  if (layer == LayerKind::Memory) others += file_system_bytes("/");
  others += shared_bytes(look, *processes);
  const bool exceeds = others + sum(look, *processes, private_bytes) > bytes &&
                       others + sum(look, *processes, proportional_bytes) > bytes;
  return exceeds || !look.is_complete();
}

}  // namespace cove::native
