#pragma once

#include "api/rest/call.h"
#include "api/rest/exec_answer.h"
#include "engine/session/placement.h"

// Commands that run on the host itself, in the modes that have that.
namespace cove::api {

struct HostWish {
  engine::ExecOrder order;
  Workspace workspace;
  ExecForm form = ExecForm::AtEnd;  // or Stream
  engine::Placement placement;      // Host or HostIfHarmless; `why` is filled in
};

// NotHarmless: nothing was run and nobody answered; `placement.why` says why it is to run in the sandbox.
enum class HostAnswer { Given, NotHarmless };
Checked<HostAnswer> answer_on_host(Call& call, HostWish& wish);

}  // namespace cove::api
