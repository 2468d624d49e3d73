#pragma once

#include "api/rest/call.h"
#include "api/rest/response_json.h"
#include "api/rest/run_stream.h"

namespace cove::api {

// How a call that runs something to its end is answered.
enum class RunForm { Result, Stream };

// Answers with what `run` comes to: the result, or a stream that ends with it. `run` is given the caller and, for a
// stream, a sink; it returns a std::optional<Ran>, or an error that is a Problem. Where the caller has left, nobody is
// answered.
template <typename Run>
Outcome answer_run(Call& call, RunForm form, RunStream::Opening opening, Run run) {
  if (form == RunForm::Result) {
    ExchangeCaller caller(call.exchange);
    auto ran = run(caller, static_cast<engine::RunSink*>(nullptr));
    if (!ran) return refuse(Problem(ran.error()));
    return *ran ? call.respond(200, result_json((*ran)->result)) : Outcome();
  }
  RunStream stream(call.exchange, opening);
  auto ran = run(stream, static_cast<engine::RunSink*>(&stream));
  if (!ran) return stream.end(refuse(Problem(ran.error())));
  return *ran ? stream.end(std::move(**ran)) : Outcome();
}

}  // namespace cove::api
