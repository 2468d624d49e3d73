#pragma once

#include "api/rest/problem.h"
#include "api/rest/request_json.h"
#include "config/config.h"
#include "engine/session/session_info.h"

// Bodies of requests about sessions.
namespace cove::api {

// What is not there is as the configuration has it. Errors are Invalid; NotFound for an image that there is not;
// Unsupported for a workspace that no runtime can have.
Result<engine::SessionOrder> parse_session(const Json& body, const Config& config);

// Parts of such a request.
Result<std::optional<std::string>> take_agent(Fields& fields);
Result<std::optional<engine::SessionScope>> take_scope(Fields& fields);
Result<std::optional<engine::Mode>> take_mode(Fields& fields);
// An agent's sandbox needs an agent.
Result<void> check_scope(const engine::SessionOrder& order);
// Image, runtime, workspace and network.
Result<void> take_sandbox(Fields& fields, engine::SessionOrder& order, const Config& config);

}  // namespace cove::api
