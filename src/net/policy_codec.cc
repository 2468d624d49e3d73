#include "base/text.h"
#include "net/policy.h"

namespace cove::net {
namespace {

constexpr uint64_t kMostLayers = 16;
constexpr uint64_t kMostSecrets = 1024;

void encode(wire::Writer& out, const NetworkPolicy& policy) {
  out.number(static_cast<uint64_t>(policy.tier)).number(policy.enabled).texts(policy.allow).texts(policy.block);
  out.number(policy.budget.bytes).number(policy.budget.connections).number(policy.learn);
}

bool decode(wire::Reader& in, NetworkPolicy& policy) {
  const uint64_t tier = in.number();
  policy.tier = static_cast<NetworkTier>(tier);
  policy.enabled = in.number() != 0;
  policy.allow = in.texts();
  policy.block = in.texts();
  policy.budget.bytes = in.number();
  policy.budget.connections = in.number();
  policy.learn = in.number() != 0;
  return in.ok() && tier <= static_cast<uint64_t>(NetworkTier::Unrestricted);
}

bool decode(wire::Reader& in, PolicyLayer& layer) {
  layer.name = in.text();
  const uint64_t role = in.number();
  layer.role = static_cast<PolicyLayer::Role>(role);
  return role <= static_cast<uint64_t>(PolicyLayer::Role::Own) && decode(in, layer.policy);
}

bool decode(wire::Reader& in, BrokeredSecret& secret) {
  secret.name = in.text();
  secret.placeholder = in.text();
  secret.value = in.text();
  secret.hosts = in.texts();
  secret.places = in.texts();
  return in.ok();
}

template <typename Value>
bool decode(wire::Reader& in, std::vector<Value>& values, uint64_t most) {
  const uint64_t count = in.number();
  if (count > most) return false;
  for (uint64_t i = 0; i < count; ++i)
    if (!decode(in, values.emplace_back())) return false;
  return true;
}

}  // namespace

void encode(wire::Writer& out, const EffectivePolicy& policy) {
  out.number(policy.version).number(policy.layers.size());
  for (const PolicyLayer& layer : policy.layers) {
    out.text(layer.name).number(static_cast<uint64_t>(layer.role));
    encode(out, layer.policy);
  }
  out.number(policy.learn).number(policy.secrets.size());
  for (const BrokeredSecret& secret : policy.secrets)
    out.text(secret.name).text(secret.placeholder).text(secret.value).texts(secret.hosts).texts(secret.places);
  out.text(policy.authority_certificate).text(policy.authority_key);
}

Result<EffectivePolicy> decode_policy(wire::Reader& in) {
  EffectivePolicy policy;
  policy.version = in.number();
  bool sound = decode(in, policy.layers, kMostLayers);
  policy.learn = in.number() != 0;
  sound = sound && decode(in, policy.secrets, kMostSecrets);
  policy.authority_certificate = in.text();
  policy.authority_key = in.text();
  if (!sound || !in.ok()) return fail(Code::Invalid, "the network policy is malformed");
  return policy;
}

}  // namespace cove::net
