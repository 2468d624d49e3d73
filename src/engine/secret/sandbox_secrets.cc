#include "engine/secret/sandbox_secrets.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "net/authority.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

// It is made anew at each start of the server, from the same seed and for the same time.
constexpr int64_t kDay = 86'400'000;
constexpr int64_t kLifetime = 3650 * kDay;

// Words of the protocol of contexts, which a value that is one of them must not break.
constexpr std::string_view kContextTag = "context/";
constexpr std::string_view kProtocol =
    R"({"type": "ready"} {"type": "stdout", "id": "", "text": ""} {"type": "stderr"} {"type": "error", "name": "",)"
    R"( "value": "", "traceback": ""} {"type": "done", "status": "interrupted"} {"type": "result", "main": true, )"
    R"("formats": {"text/plain": "", "text/html": "", "image/png": ""}, "display_id": "", "update": false} false )"
    R"({"type": "clear"} "ok","text":"","id":"",)";

std::vector<std::string> names_of(const SandboxInfo& sandbox, const ExecOrder& order) {
  std::vector<std::string> names = sandbox.spec.secrets;
  for (const std::string& name : order.secrets)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::shared_ptr<const MaskPatterns> mask_values(std::vector<SecretValue>& values, const ExecOrder& order) {
  std::vector<Masked> masked;
  for (SecretValue& each : values) masked.push_back({each.info.name, std::move(each.value)});
  // What an interpreter's kernel says is JSON.
  return MaskPatterns::make(std::move(masked), order.tag.starts_with(kContextTag) ? kProtocol : "");
}

Result<net::Authority> authority_of(Secrets& secrets, const SandboxInfo& sandbox) {
  std::string seed = COVE_TRY(secrets.derive(concat("sandbox-authority:", sandbox.spec.id)));
  Result<net::Authority> authority =
      net::make_authority(seed, sandbox.spec.id, sandbox.created_ms - kDay, sandbox.created_ms + kLifetime);
  wipe(seed);
  return authority;
}

Result<void> require(const Caller& caller, Scope scope) {
  if (caller.scopes.allow(scope) && caller.only_sandbox.empty()) return {};
  return fail(Code::Denied, concat("this needs the scope '", std::string_view(scope_name(scope)), "'"));
}

EventDraft event_of(const Caller& caller, const char* kind, const std::string& agent, const std::string& name) {
  Json data = {{"name", name}};
  if (!agent.empty()) data["agent"] = agent;
  return {.kind = kind, .project = caller.project, .actor = caller.actor, .data = data.dump()};
}

// In its canonical form.
Result<std::string> checked_host(const SecretInfo& info, size_t index) {
  const std::string& text = info.hosts[index];
  auto wrong = [&](Error error) {
    return fail(std::move(error).note(concat("secret '", info.name, "'")).at(concat("/hosts/", index)));
  };
  Result<net::Rule> rule = net::parse_rule(text);
  if (!rule) return wrong(std::move(rule).error());
  const bool names = rule->kind == net::Rule::Kind::Name || rule->kind == net::Rule::Kind::Subdomains;
  if (names && !rule->reads_requests()) return net::to_text(*rule);
  return wrong(Error(Code::Invalid, concat("'", text, "' cannot get a secret: it is no host"))
                   .hint("write a name or *.NAME, with a port where needed: api.example.org, *.example.org:8443"));
}

// Those without a port get it at that of HTTPS.
Result<std::vector<std::string>> hosts_with_ports(const std::vector<std::string>& hosts) {
  constexpr uint16_t kHttps = 443;
  std::vector<std::string> complete;
  for (const std::string& host : hosts) {
    net::Rule rule = COVE_TRY(net::parse_rule(host));
    if (rule.ports.empty()) rule.ports = {kHttps};
    complete.push_back(net::to_text(rule));
  }
  return complete;
}

bool is_brokered(const SecretInfo& info) { return info.use == SecretUse::Brokered; }

}  // namespace

Result<std::shared_ptr<SandboxSecrets>> SandboxSecrets::open(Store& store, KeyPlaces places) {
  return std::shared_ptr<SandboxSecrets>(new SandboxSecrets(COVE_TRY(Secrets::open(store, std::move(places)))));
}

Result<SecretInfo> SandboxSecrets::set(const Caller& caller, SecretInfo info, std::string value) {
  COVE_TRY(require(caller, Scope::Secrets));
  info.project = caller.project;
  for (size_t i = 0; i < info.hosts.size(); ++i) info.hosts[i] = COVE_TRY(checked_host(info, i));
  const EventDraft event = event_of(caller, "secret.set", info.agent, info.name);
  Result<SecretInfo> made = secrets_->set(std::move(info), std::move(value), {&event, 1});
  if (made) changed_(made->project, made->name);
  return made;
}

Result<std::vector<SecretInfo>> SandboxSecrets::list(const Caller& caller, const std::string& agent) {
  COVE_TRY(require(caller, Scope::Secrets));
  return secrets_->list(caller.project, agent);
}

Result<void> SandboxSecrets::remove(const Caller& caller, const std::string& agent, const std::string& name) {
  COVE_TRY(require(caller, Scope::Secrets));
  const EventDraft event = event_of(caller, "secret.removed", agent, name);
  COVE_TRY(secrets_->remove(caller.project, agent, name, {&event, 1}));
  changed_(caller.project, name);
  return {};
}

Result<void> SandboxSecrets::rotate(const Caller& caller) {
  COVE_TRY(require(caller, Scope::Admin));
  return secrets_->rotate();
}

Result<void> SandboxSecrets::check(const Caller& caller, const std::string& agent,
                                   const std::vector<std::string>& names) {
  if (names.empty()) return {};
  if (!caller.scopes.allow(Scope::Secrets))
    return fail(
        Error(Code::Denied, concat("naming secrets needs the scope 'secrets', which ", caller.actor, " does not have"))
            .hint("use a key with the scopes run and secrets")
            .at("/secrets"));
  if (names.size() > kMostNamedSecrets)
    return fail(Error(Code::Invalid, concat("more than ", kMostNamedSecrets, " secrets are named")).at("/secrets"));
  Result<std::vector<SecretInfo>> found = secrets_->find(caller.project, agent, names);
  if (!found) return fail(std::move(found).error().at("/secrets"));
  return {};
}

Result<ExecSecrets> SandboxSecrets::for_exec(const SandboxInfo& sandbox, const ExecOrder& order) {
  ExecSecrets result;
  const std::vector<std::string> names = names_of(sandbox, order);
  if (names.empty()) return result;
  std::vector<SecretValue> values =
      COVE_TRY_NOTE("give an exec its secrets", secrets_->values(sandbox.project, sandbox.spec.agent, names));
  for (const SecretValue& each : values) {
    const bool brokered = is_brokered(each.info);
    if (brokered && std::ranges::find(sandbox.spec.secrets, each.info.name) == sandbox.spec.secrets.end())
      return fail(Error(Code::Invalid,
                        concat("secret '", each.info.name, "' is brokered, and this sandbox was made without it"))
                      .hint("name it when the sandbox is made")
                      .at("/secrets"));
    result.env.emplace_back(each.info.name, brokered ? each.placeholder : each.value);
    result.trust = result.trust || brokered;
  }
  result.mask = mask_values(values, order);
  return result;
}

std::shared_ptr<const MaskPatterns> SandboxSecrets::mask_of(const SandboxInfo& sandbox, const ExecOrder& order) {
  std::vector<SecretValue> values;
  for (const std::string& name : names_of(sandbox, order))
    if (Result<std::vector<SecretValue>> one = secrets_->values(sandbox.project, sandbox.spec.agent, {name}))
      values.push_back(std::move(one->front()));
  return values.empty() ? nullptr : mask_values(values, order);
}

Result<std::vector<SecretValue>> SandboxSecrets::present_values(const SandboxInfo& sandbox) {
  std::vector<SecretValue> values;
  for (const std::string& name : sandbox.spec.secrets) {
    Result<std::vector<SecretValue>> one = secrets_->values(sandbox.project, sandbox.spec.agent, {name});
    if (!one && one.error().code() == Code::NotFound) continue;
    values.push_back(std::move(COVE_TRY(std::move(one)).front()));
  }
  return values;
}

Result<void> SandboxSecrets::fill(const SandboxInfo& sandbox, net::EffectivePolicy& policy) {
  for (SecretValue& each : COVE_TRY(present_values(sandbox)))
    if (is_brokered(each.info))
      policy.secrets.push_back({each.info.name, each.placeholder, std::move(each.value),
                                COVE_TRY(hosts_with_ports(each.info.hosts)), each.info.places});
  if (policy.secrets.empty()) return {};
  net::Authority authority = COVE_TRY(authority_of(*secrets_, sandbox));
  policy.authority_certificate = std::move(authority.certificate);
  policy.authority_key = std::move(authority.key);
  return {};
}

Result<void> SandboxSecrets::install(Sandbox& handle, const SandboxInfo& sandbox) {
  if (sandbox.spec.secrets.empty()) return {};
  bool brokered = false;
  for (const SecretValue& each : COVE_TRY(present_values(sandbox))) brokered = brokered || is_brokered(each.info);
  if (!brokered) return {};
  const net::Authority authority = COVE_TRY(authority_of(*secrets_, sandbox));
  std::unique_ptr<View> view = COVE_TRY(handle.open_view("root"));
  return install_trust(*view, authority.certificate, sandbox.created_ms);
}

}  // namespace cove::engine
