#pragma once

#include <string>
#include <vector>

#include "model/runtime_kind.h"

namespace cove {

// How far a machine gets.
enum class IsolationLevel {
  None,     // no sandbox can be started
  Reduced,  // the walls stand; a second fence is missing, or limits are held by weaker means than the kernel's
  Full,     // every wall stands, and the kernel holds every limit
};
const char* level_name(IsolationLevel level);     // "none", "reduced", "full"
const char* level_meaning(IsolationLevel level);  // in words

enum class FindingStatus {
  Good,
  Weak,     // sandboxes work, with something less
  Missing,  // sandboxes cannot be started
  Absent,   // not needed for a sandbox
};
const char* standing_name(FindingStatus standing);  // "good", "weak", "missing", "absent"

// One thing that was looked at.
struct Finding {
  std::string name;   // for programs: "user_namespaces"
  std::string title;  // for people: "user namespaces"
  FindingStatus standing = FindingStatus::Good;
  std::string value;   // what was found
  std::string effect;  // what it means that it is not good
  std::string remedy;  // the command that would mend it, or what to do
};

struct Diagnosis {
  std::string version;  // of Cove
  std::string mode;     // "root" or "rootless"
  IsolationLevel level = IsolationLevel::None;
  std::vector<Finding> findings;
  std::vector<RuntimeFact> runtimes;
};

}  // namespace cove
