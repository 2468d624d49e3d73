#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/records.h"

namespace cove::engine {

enum class OperationState { Running, Succeeded, Failed, Cancelled };
const char* operation_state_name(OperationState state);  // "running"
std::optional<OperationState> parse_operation_state(const std::string& name);

inline constexpr const char* kInterrupted = "interrupted";

// The kinds there are.
inline constexpr const char* kOperationKinds[] = {"pull", "load", "import", "prune", "verify", "record_workspace"};

struct OperationProgress {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;  // 0: not known
  std::string message;       // what it is doing, for people
  std::string details;       // a JSON object with what belongs to the kind, or empty

  bool operator==(const OperationProgress&) const = default;
};

// Why it failed: the code and the words of an Error, or kInterrupted where the server ended before it did.
struct OperationError {
  std::string code;
  std::string message;
  std::string hint;
};

// Long work, as callers see it: a pull, a load… It goes on without the caller who asked for it.
struct OperationInfo {
  std::string id;
  std::string project;
  std::string kind;
  std::string target;  // of what: an image's name, a folder
  OperationState state = OperationState::Running;
  OperationProgress progress;
  std::string result;  // JSON; empty unless it succeeded
  std::optional<OperationError> error;
  uint64_t version = 1;  // rises with each change
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  int64_t ended_ms = 0;
};

OperationRecord record_of(const OperationInfo& info);
Result<OperationInfo> info_of(const OperationRecord& record);
std::string error_json(const OperationError& error);

// What is to be done.
struct OperationTask {
  std::string kind;
  std::string target;
  std::string project;
  std::function<Result<std::string>()> work;    // its result, as JSON
  std::function<OperationProgress()> progress;  // asked by another thread while it works; may be empty
  std::function<void()> cancel;                 // has it end soon; empty: it cannot be cancelled
};

}  // namespace cove::engine
