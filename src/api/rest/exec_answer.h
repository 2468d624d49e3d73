#pragma once

#include <memory>

#include "api/rest/call.h"
#include "api/rest/exec_request.h"
#include "engine/exec/exec.h"

// How a request for an exec is answered, wherever it runs: at its end, as a stream, or at once.
namespace cove::api {

enum class ExecForm { AtEnd, Stream, AtOnce };

struct ExecWish {
  engine::ExecOrder order;
  ExecForm form = ExecForm::AtOnce;
  engine::OnDisconnect on_disconnect = engine::OnDisconnect::Keep;
};
// The body, `?wait` and Accept.
Checked<ExecWish> read_exec_wish(Call& call, const Json& body);

// What an earlier try of this request, with the same Idempotency-Key, has started; null where there is none.
Checked<std::shared_ptr<engine::Exec>> exec_made_before(Call& call);

Outcome answer_exec(Call& call, const std::shared_ptr<engine::Exec>& exec, const ExecWish& wish);

// `state`, `tag`, `limit` and `after` of a list of execs.
Checked<engine::Engine::ExecFilter> exec_filter(const http::Request& request);
std::string exec_page(const engine::Page<engine::ExecInfo>& page);

}  // namespace cove::api
