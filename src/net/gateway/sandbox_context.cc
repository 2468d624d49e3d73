#include "net/gateway/sandbox_context.h"

namespace cove::net {

NetworkEntry entry_of(NetworkEntry::Stage stage, const Target& target, const Verdict& verdict) {
  NetworkEntry entry;
  entry.stage = stage;
  entry.protocol = target.protocol;
  entry.host = !target.name.empty() ? target.name : target.address ? to_text(*target.address) : "";
  if (target.address) entry.address = to_text(*target.address);
  entry.port = target.port;
  entry.method = target.method;
  entry.path = target.path;
  entry.allowed = verdict.decision != Decision::Deny;
  entry.rule = verdict.rule;
  entry.layer = verdict.layer;
  entry.why = verdict.why;
  entry.code = verdict.code;
  return entry;
}

}  // namespace cove::net
