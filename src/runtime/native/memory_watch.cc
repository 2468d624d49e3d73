#include "runtime/native/memory_watch.h"

#include <sys/statfs.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace cove::native {
namespace {

// Quick, and too much: what processes share after a fork counts for each of them.
uint64_t resident_bytes(const std::string& process) {
  Result<std::string> text = sys::read_file(concat("/proc/", process, "/statm"), 256);
  unsigned long size = 0;
  unsigned long resident = 0;
  unsigned long shared = 0;
  if (!text || std::sscanf(text->c_str(), "%lu %lu %lu", &size, &resident, &shared) != 3) return 0;
  return (resident - shared) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Slow, and right: shared pages are divided among those that share them.
uint64_t proportional_bytes(const std::string& process) {
  Result<std::string> text = sys::read_file(concat("/proc/", process, "/smaps_rollup"), 4096);
  if (!text) return 0;
  size_t line = text->find("Pss_Anon:");
  unsigned long kib = 0;
  if (line == std::string::npos || std::sscanf(text->c_str() + line, "Pss_Anon: %lu", &kib) != 1) return 0;
  return uint64_t{kib} * 1024;
}

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

bool memory_exceeds(uint64_t bytes, LayerKind layer) {
  Result<std::vector<std::string>> processes = sys::list_folder("/proc");
  if (!processes) return false;
  std::erase_if(*processes, [](const std::string& name) { return name[0] < '1' || name[0] > '9'; });
  uint64_t files = file_system_bytes("/dev/shm");
  if (layer == LayerKind::Memory) files += file_system_bytes("/");
  return files + sum(*processes, resident_bytes) > bytes && files + sum(*processes, proportional_bytes) > bytes;
}

}  // namespace cove::native
