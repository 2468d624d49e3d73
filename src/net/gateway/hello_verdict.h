#pragma once

#include "net/gateway/client_hello.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

struct Judgement {
  Target target;
  Verdict verdict;
};

// What a ClientHello changes of a decision: all names that are present must agree, a connection without a name gets
// one, and what hides the name is refused below the full tiers. There, a server may be called by any name that is not
// blocked.
Judgement judge_hello(const SandboxContext& context, Judgement before, const Hello& hello);

Verdict denial(const std::string& code, std::string why);
std::string describe(const Target& target);  // "example.org:443"

}  // namespace cove::net
