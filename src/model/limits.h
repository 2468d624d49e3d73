#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cove {

// One limit. A limit that the caller named is enforced or the run is refused; a default may fall back to the
// next best means (see Enforcement).
template <typename T>
struct Limit {
  T value{};
  bool named = false;

  Limit() = default;
  Limit(T initial) : value(initial) {}  // a default
  void name(T wanted) {
    value = wanted;
    named = true;
  }
};

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

inline constexpr uint64_t kDefaultDisk = 10 * kGiB;
inline constexpr uint64_t kDefaultMemoryLayer = 1 * kGiB;

// What a sandbox, or one exec in it, may use. Zero means no limit of this kind, where nothing else is said. Each has a
// row in limit_fields.h, from which everything follows but how it is enforced.
struct Limits {
  Limit<double> cpus = 1.0;
  Limit<uint64_t> memory = 2 * kGiB;           // bytes
  Limit<uint64_t> swap = 0;                    // bytes of swap beyond the memory; 0: none
  Limit<uint64_t> disk = 0;                    // bytes of the writable layer; 0: what suits the layer
  Limit<uint64_t> inodes = 0;                  // 0: in proportion to disk
  Limit<uint64_t> processes = 1024;            // tasks: processes and threads
  Limit<uint64_t> open_files = 1024;           // soft; the hard one is kOpenFilesHard or this, whichever is larger
  Limit<uint64_t> file_size = 0;               // bytes of any one file
  Limit<uint64_t> io_read = 0;                 // bytes per second from disk
  Limit<uint64_t> io_write = 0;                // bytes per second to disk
  Limit<std::chrono::milliseconds> timeout{};  // wall clock of an exec: TERM, then KILL after `grace`
  Limit<std::chrono::milliseconds> grace = std::chrono::milliseconds(2000);
  Limit<uint64_t> output = 0;           // bytes of stdout and stderr together, then it is killed
  Limit<uint64_t> retained = 1 * kMiB;  // bytes of each stream kept in the result
};

// Limits of zero.
Limits no_limits();

// Limits that were not named are as these.
void take_defaults(Limits& limits, const Limits& defaults);
// Those that are named in `changed` are as there.
void take_named(Limits& limits, const Limits& changed);

inline constexpr uint64_t kOpenFilesHard = 65536;

// By what a limit is held: "cgroup", "tmpfs", "quota", "rlimit", "watcher", "timer", …
struct Enforcement {
  std::string value;  // as people write it: "2 GiB", "1"
  std::string enforced_by;
};
using EnforcedLimits = std::map<std::string, Enforcement>;

enum class Strictness { FallBack, Strict };

}  // namespace cove
