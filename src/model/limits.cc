#include "model/limits.h"

namespace cove {
namespace {

template <typename T>
void take(Limit<T>& limit, const Limit<T>& standard) {
  if (!limit.named) limit.value = standard.value;
}

}  // namespace

void take_defaults(Limits& limits, const Limits& defaults) {
  take(limits.cpus, defaults.cpus);
  take(limits.memory, defaults.memory);
  take(limits.disk, defaults.disk);
  take(limits.inodes, defaults.inodes);
  take(limits.processes, defaults.processes);
  take(limits.open_files, defaults.open_files);
  take(limits.file_size, defaults.file_size);
  take(limits.io_read, defaults.io_read);
  take(limits.io_write, defaults.io_write);
  take(limits.timeout, defaults.timeout);
  take(limits.output, defaults.output);
}

}  // namespace cove
