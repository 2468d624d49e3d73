#include "runtime/native/memory_watch.h"

#include <sched.h>
#include <sys/statfs.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::native {
namespace {

uint64_t kib_after(std::string_view text, std::string_view key) {
  size_t line = text.find(key);
  if (line == text.npos) return 0;
  unsigned long kib = 0;
  return std::sscanf(text.data() + line + key.size(), "%lu", &kib) == 1 ? uint64_t{kib} * 1024 : 0;
}

std::string read_of(const std::string& process, const char* file, size_t most) {
  return sys::read_file(concat("/proc/", process, "/", file), most).value_or(std::string());
}

// Quick, and too much: what processes share counts for each of them.
uint64_t resident_bytes(const std::string& process) {
  const std::string text = read_of(process, "status", 4096);
  return kib_after(text, "RssAnon:") + kib_after(text, "RssShmem:");
}

// Of memory that was mapped to be shared, without a file, the process's part.
uint64_t shared_bytes(const std::string& process) {
  constexpr size_t kMost = 16 << 20;
  const std::string text = read_of(process, "smaps", kMost);
  uint64_t bytes = 0;
  for (size_t mapping = 0; (mapping = text.find(" /dev/zero (deleted)\n", mapping)) != text.npos; ++mapping)
    bytes += kib_after(std::string_view(text).substr(mapping), "\nPss:");
  return bytes;
}

// Slow, and right: shared pages are divided among those that share them.
uint64_t proportional_bytes(const std::string& process) {
  return kib_after(read_of(process, "smaps_rollup", 4096), "Pss_Anon:") + shared_bytes(process);
}

// A column of a table with a heading, counted from 0. Of "tx:rx" the latter.
uint64_t sum_of_column(const std::string& path, size_t column, int base) {
  constexpr size_t kMost = 16 << 20;
  uint64_t sum = 0;
  const std::string text = sys::read_file(path, kMost).value_or(std::string());
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

uint64_t socket_bytes() {
  return sum_of_column("/proc/1/net/udp", 4, 16) + sum_of_column("/proc/1/net/udp6", 4, 16) +
         sum_of_column("/proc/1/net/netlink", 4, 10);
}

uint64_t system_v_bytes() { return sum_of_column("/proc/sysvipc/shm", 14, 10); }

uint64_t sum(const std::vector<std::string>& processes, uint64_t (*measure)(const std::string&)) {
  uint64_t bytes = 0;
  for (const std::string& process : processes) bytes += measure(process);
  return bytes;
}

uint64_t file_system_bytes(const char* path) {
  struct statfs info;
  if (::statfs(path, &info) < 0) return 0;
  return (info.f_blocks - info.f_bfree) * static_cast<uint64_t>(info.f_bsize);
}

}  // namespace

bool memory_exceeds(uint64_t bytes, LayerKind layer, int process_1) {
  // Each time: process 1 may not have made its namespaces yet.
  static_cast<void>(sys::setns(process_1, CLONE_NEWIPC));
  Result<std::vector<std::string>> processes = sys::list_folder("/proc");
  if (!processes) return false;
  std::erase_if(*processes, [](const std::string& name) { return name[0] < '1' || name[0] > '9'; });
  uint64_t others = file_system_bytes("/dev/shm") + system_v_bytes() + socket_bytes();
  if (layer == LayerKind::Memory) others += file_system_bytes("/");
  return others + sum(*processes, resident_bytes) > bytes && others + sum(*processes, proportional_bytes) > bytes;
}

}  // namespace cove::native
