#pragma once

#include <optional>

#include "api/rest/call.h"
#include "engine/session/sessions.h"

namespace cove::api {

// Code for a context, which is no exec of its own.
struct CodeRequest {
  std::string context;
  std::optional<LanguageWish> language;  // where it was named
  engine::ExecOrder order;               // code and limits
  bool streamed = false;
};
// Whether a request for an exec is for code in a context.
bool names_context(const Json& body);
Checked<CodeRequest> read_code(Call& call, const Json& body);

// Where it runs, and why there.
struct CodePlace {
  std::string sandbox;                           // its id or name
  const engine::SessionInfo* session = nullptr;  // whose it is, if anybody's
  std::string why = {};
};
// Answers it: with the result, or with a stream that ends with it.
Outcome run_in_context(Call& call, CodeRequest request, const CodePlace& place);

}  // namespace cove::api
