#pragma once

#include <string>

#include "api/rest/request_json.h"
#include "api/rest/run_answer.h"
#include "config/config.h"
#include "engine/service/execute_order.h"

namespace cove::api {

// What goes on after the answer has begun can be had in a stream only: a terminal, input that follows. Errors are
// Invalid; NotFound and Unsupported as for sandboxes and execs.
Result<engine::ExecuteOrder> parse_execute(const Json& body, const Config& config, RunForm form);

// Invalid where it is not one that finds files below the working folder.
Result<void> check_pattern(const std::string& pattern);

}  // namespace cove::api
