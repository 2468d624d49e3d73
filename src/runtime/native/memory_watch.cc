#include "runtime/native/memory_watch.h"

#include <sys/statfs.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace cove::native {
namespace {

constexpr long kTmpfsMagic = 0x01021994;

uint64_t private_bytes(const std::string& process) {
  Result<std::string> text = sys::read_file(concat("/proc/", process, "/statm"), 256);
  unsigned long size = 0;
  unsigned long resident = 0;
  unsigned long shared = 0;
  if (!text || std::sscanf(text->c_str(), "%lu %lu %lu", &size, &resident, &shared) != 3) return 0;
  return (resident - shared) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t file_system_bytes(const char* path) {
  struct statfs info;
  if (::statfs(path, &info) < 0) return 0;
  bool in_memory = info.f_type == kTmpfsMagic || std::string_view(path) == "/";
  return in_memory ? (info.f_blocks - info.f_bfree) * static_cast<uint64_t>(info.f_bsize) : 0;
}

}  // namespace

uint64_t used_memory() {
  uint64_t bytes = file_system_bytes("/") + file_system_bytes("/dev/shm");
  Result<std::vector<std::string>> names = sys::list_folder("/proc");
  if (!names) return bytes;
  for (const std::string& name : *names)
    if (name[0] >= '1' && name[0] <= '9') bytes += private_bytes(name);
  return bytes;
}

}  // namespace cove::native
