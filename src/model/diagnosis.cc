#include "model/diagnosis.h"

namespace cove {

const char* level_name(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::None:
      return "none";
    case IsolationLevel::Reduced:
      return "reduced";
    case IsolationLevel::Full:
      return "full";
  }
  return "none";
}

const char* level_meaning(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::None:
      return "no sandbox can be started";
    case IsolationLevel::Reduced:
      return "the walls stand, but some fences or limits are weaker than they could be";
    case IsolationLevel::Full:
      return "every wall stands, and the kernel holds every limit";
  }
  return "";
}

const char* standing_name(FindingStatus standing) {
  switch (standing) {
    case FindingStatus::Good:
      return "good";
    case FindingStatus::Weak:
      return "weak";
    case FindingStatus::Missing:
      return "missing";
    case FindingStatus::Absent:
      return "absent";
  }
  return "absent";
}

}  // namespace cove
