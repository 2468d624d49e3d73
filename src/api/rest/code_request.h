#pragma once

#include "api/rest/call.h"
#include "api/rest/run_answer.h"
#include "engine/service/context_runs.h"

namespace cove::api {

// Code for a context.
struct CodeRequest {
  engine::CodeOrder order;
  RunForm form = RunForm::Result;
};
// Whether a request for an exec is for code in a context.
bool names_context(const Json& body);
Checked<CodeRequest> read_code(Call& call, const Json& body);

}  // namespace cove::api
