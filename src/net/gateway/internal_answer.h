#pragma once

#include <string>
#include <string_view>

#include "net/gateway/sandbox_context.h"
#include "net/gateway/token_bucket.h"

namespace cove::net {

struct InternalRequest {
  std::string method;
  std::string target;  // "/v1/denials?last=5", or in absolute form
  std::string accept;
  std::string body;
};

// What http://cove.internal/ answers: whole messages, after which the connection is closed.
//
//   GET  /                    for people, or in JSON where that is accepted: both of what follows
//   GET  /v1/policy           what the sandbox may reach
//   GET  /v1/denials?last=N   what it was denied
//   POST /v1/requests         {host, port, reason}: asks a person for access
class InternalAnswers {
 public:
  std::string answer(SandboxContext& context, const InternalRequest& request);

 private:
  std::string ask(SandboxContext& context, const InternalRequest& request);

  TokenBucket requests_{10, 1.0 / 6};  // for access: ten at once, then one every six seconds
};

std::string refused_request(int status, std::string_view why);

}  // namespace cove::net
