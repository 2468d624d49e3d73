#include "net/gateway/hello_verdict.h"

#include "base/text.h"

namespace cove::net {
namespace {

Judgement judge_name(const SandboxContext& context, Judgement before, const std::string& name) {
  Target target = before.target;
  if (target.name.empty()) {
    target.name = name;
    // What the name is resolved to counts, not what the program asked for, unless that is allowed.
    if (before.verdict.decision != Decision::Allow) target.address.reset();
    return {target, context.decide(target)};
  }
  if (target.name == name) return before;
  if (!context.rules().is_full())
    return {target, denial("name_mismatch", concat("the TLS handshake names ", name,
                                                   ", but the connection was made to ", describe(target)))};
  Target other = target;
  other.name = name;
  Verdict verdict = context.decide(other);
  return verdict.decision == Decision::Deny ? Judgement{other, verdict} : before;
}

}  // namespace

Judgement judge_hello(const SandboxContext& context, Judgement before, const Hello& hello) {
  before.target.protocol = Protocol::Tls;
  bool full = context.rules().is_full();
  if (hello.encrypted && !full) {
    before.verdict = denial("protocol", "Encrypted ClientHello hides the server's name: turn it off");
    return before;
  }
  if (hello.name.empty()) return before;
  auto name = normalize_name(hello.name);
  if (name) return judge_name(context, std::move(before), *name);
  if (!full) before.verdict = denial("name_mismatch", "the name in the TLS handshake is not valid");
  return before;
}

Verdict denial(const std::string& code, std::string why) {
  Verdict verdict;
  verdict.code = code;
  verdict.why = std::move(why);
  return verdict;
}

std::string describe(const Target& target) {
  if (!target.name.empty()) return concat(target.name, ":", target.port);
  if (!target.address) return concat("port ", target.port);
  bool is_v4 = target.address->is_v4();
  return concat(is_v4 ? "" : "[", to_text(*target.address), is_v4 ? ":" : "]:", target.port);
}

}  // namespace cove::net
