#include "run/maxima.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

uint64_t number_in(const char* path) {
  auto text = sys::read_file(path, 64);
  if (!text) return 0;
  auto number = parse_integer(trim(*text), 0, INT64_MAX);
  return number ? static_cast<uint64_t>(*number) : 0;
}

}  // namespace

Maxima machine_maxima() {
  Maxima maxima;
  Limits& most = maxima.most;
  most.cpus = ::get_nprocs();
  struct sysinfo memory;
  if (::sysinfo(&memory) == 0) most.memory = static_cast<uint64_t>(memory.totalram) * memory.mem_unit;
  most.processes = number_in("/proc/sys/kernel/pid_max");
  struct rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY) most.open_files = files.rlim_max;
  return maxima;
}

}  // namespace cove
