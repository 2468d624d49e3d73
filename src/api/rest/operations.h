#pragma once

#include <optional>
#include <string>

#include "api/rest/problem.h"
#include "base/json.h"
#include "engine/operation/operations.h"

// Operations over HTTP.
namespace cove::api {

struct Call;

Json operation_json(const engine::OperationInfo& operation);

// The operation at its end; nothing where the caller has gone. 503 where the server stops before.
Checked<std::optional<engine::OperationInfo>> await_end(Call& call, const std::string& id);

// Has the work done as an operation, and answers with its result, or the problem. The work goes on where the caller
// goes away. `location` begins a Location header that the result's digest ends, where it is not empty.
struct Answer {
  int status = 200;
  std::string location = {};
};
Outcome answer_outcome(Call& call, engine::OperationTask task, const Answer& answer = {});
// With the operation itself, at once.
Outcome answer_started(Call& call, engine::OperationTask task);

}  // namespace cove::api
