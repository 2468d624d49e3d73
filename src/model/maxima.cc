#include "model/maxima.h"

#include <cstdio>

#include "base/text.h"

namespace cove {
namespace {

// Below these nothing can run, or the kernel refuses the limit itself.
constexpr double kLeastCpus = 0.01;
constexpr uint64_t kLeastMemory = 4 * kMiB;
constexpr uint64_t kLeastDisk = 64 * kKiB;
constexpr uint64_t kLeastOpenFiles = 16;

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}
std::string count_text(uint64_t count) { return concat(count); }

template <typename T, typename Text>
std::optional<ImpossibleLimit> check(const char* name, const Limit<T>& limit, T least, T most, Text text) {
  if (!limit.named) return std::nullopt;
  if (most != T{} && limit.value > most)
    return ImpossibleLimit{name, text(limit.value), concat("more than this machine has (", text(most), ")")};
  if (limit.value < least)
    return ImpossibleLimit{name, text(limit.value), concat("less than the least (", text(least), ")")};
  return std::nullopt;
}

}  // namespace

std::optional<ImpossibleLimit> find_impossible(const Limits& limits, const Maxima& maxima) {
  constexpr uint64_t kNoMost = 0;
  if (auto found = check("cpus", limits.cpus, kLeastCpus, maxima.cpus, number_text)) return found;
  if (auto found = check("memory", limits.memory, kLeastMemory, maxima.memory, format_bytes)) return found;
  if (auto found = check("disk", limits.disk, kLeastDisk, kNoMost, format_bytes)) return found;
  if (auto found = check("processes", limits.processes, uint64_t{1}, maxima.processes, count_text)) return found;
  return check("open_files", limits.open_files, kLeastOpenFiles, maxima.open_files, count_text);
}

bool names_capped_limit(const Limits& limits) {
  return limits.cpus.named || limits.memory.named || limits.disk.named || limits.processes.named ||
         limits.open_files.named;
}

}  // namespace cove
