#pragma once

#include "api/call.h"
#include "api/exec_answer.h"
#include "engine/live/placement.h"

// Commands that run on the host itself, in the modes that have that.
namespace cove::api {

struct HostWish {
  live::ExecOrder order;
  Workspace workspace;
  ExecForm form = ExecForm::AtEnd;  // or Stream
  live::Placement placement;        // Host or HostIfHarmless; `why` is filled in
};

// NotHarmless: nothing was run and nobody answered; `placement.why` says why it is to run in the sandbox.
enum class HostAnswer { Given, NotHarmless };
Checked<HostAnswer> answer_on_host(Call& call, HostWish& wish);

}  // namespace cove::api
