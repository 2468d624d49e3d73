#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/exec.h"
#include "runtime/view.h"

// The files that an execution works on, and those that it leaves. Everything is seen from inside the sandbox, with the
// rights of its user; links are never followed.
namespace cove::engine {

inline constexpr size_t kMostFiles = 100;           // that are given back
inline constexpr uint64_t kMostOfFile = 1 * kMiB;   // bytes of each
inline constexpr uint64_t kMostOfFiles = 8 * kMiB;  // bytes of all
inline constexpr size_t kMostEntries = 10'000;      // that are looked at

// The files of a folder and of those in it, by their paths below it. Left out is what programs keep for themselves:
// names that begin with a dot, __pycache__ and node_modules.
struct Surroundings {
  struct Mark {
    uint64_t size = 0;
    uint64_t mtime_ns = 0;
    bool operator==(const Mark&) const = default;
  };
  std::map<std::string, Mark> files;
  bool whole = true;  // there was not more than is looked at
};
Surroundings look_around(View& view, const std::string& folder);

// What homes of fresh sandboxes have in them, by a key of whoever asks: it is looked at once. Thread-safe.
class FreshHomes {
 public:
  bool find(const std::string& key, std::string& folder, Surroundings& found) const {
    std::lock_guard lock(mutex_);
    auto known = homes_.find(key);
    if (known == homes_.end()) return false;
    folder = known->second.first;
    found = known->second.second;
    return true;
  }
  void keep(const std::string& key, const std::string& folder, const Surroundings& surroundings) {
    std::lock_guard lock(mutex_);
    homes_[key] = {folder, surroundings};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, Surroundings>> homes_;
};

// The paths that are new, or have changed.
std::vector<std::string> changed_paths(const Surroundings& before, const Surroundings& after);

// Files with their content, and what was left out.
struct Produced {
  std::vector<OutputFile> files;
  std::vector<Denial> left_out;
};
// What was made or changed in the folder since.
Produced collect_changed(View& view, const std::string& folder, const Surroundings& before);
// What matches; a folder stands for all files in it.
Produced collect_matching(View& view, const std::string& folder, const std::vector<std::string>& patterns);

}  // namespace cove::engine
