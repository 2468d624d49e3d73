#pragma once

#include "base/result.h"
#include "engine/sandbox_info.h"
#include "engine/session/session_info.h"
#include "store/records.h"

// Sandboxes, execs and sessions as the store keeps them. docs/formats/state.md describes the JSON.
namespace cove::engine {

SandboxRecord record_of(const SandboxInfo& info);
Result<SandboxInfo> info_of(const SandboxRecord& record);

ExecRecord record_of(const ExecInfo& info);
Result<ExecInfo> info_of(const ExecRecord& record);

SessionRecord record_of(const SessionInfo& info);
Result<SessionInfo> info_of(const SessionRecord& record);

std::string record_text(const NetworkPolicy& policy);
Result<NetworkPolicy> network_policy_of(const std::string& text);

}  // namespace cove::engine
