#include "engine/record_codec.h"

#include <concepts>

#include "base/json.h"
#include "base/text.h"
#include "engine/order_fields.h"
#include "engine/result_codec.h"
#include "model/limit_fields.h"
#include "model/sandbox_fields.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;

// --- a member of each type, as JSON and back; what is not known is not taken for something looser ----------------
Json stored(Access access) { return access_name(access); }
Json stored(NetworkTier tier) { return tier_name(tier); }
Json stored(OnExpire action) { return on_expire_name(action); }
Json stored(Mode mode) { return mode_name(mode); }
Json stored(Strictness strictness) { return strictness == Strictness::Strict; }
Json stored(milliseconds time) { return time.count(); }

void restore(const Json& json, Access& access) { access = access_of(json.as_string()).value_or(Access::None); }
void restore(const Json& json, NetworkTier& tier) {
  tier = parse_tier(json.as_string()).value_or(NetworkTier::Sandbox);
}
void restore(const Json& json, OnExpire& action) {
  action = parse_on_expire(json.as_string()).value_or(OnExpire::Stop);
}
void restore(const Json& json, Mode& mode) { mode = parse_mode(json.as_string()).value_or(Mode::All); }
void restore(const Json& json, Strictness& strictness) {
  strictness = json.as_bool() ? Strictness::Strict : Strictness::FallBack;
}
void restore(const Json& json, milliseconds& time) { time = milliseconds(json.as_int64()); }

Json stored(const Limits& limits) {
  Json json;
  auto add = [&](const LimitField& field, const auto& limit) {
    Json value;
    if constexpr (requires { limit.value.count(); })
      value = limit.value.count();
    else
      value = limit.value;
    json[record_name(field)] = json_object({{"value", std::move(value)}, {"named", limit.named}});
  };
  visit_limits(add, limits);
  return json;
}

void restore(const Json& json, Limits& limits) {
  auto take = [&](const LimitField& field, auto& limit) {
    const Json* record = json.find(record_name(field));
    if (!record) return;
    if constexpr (requires { limit.value.count(); })
      limit.value = milliseconds(record->at("value").as_int64());
    else
      record->at("value").get_to(limit.value);
    limit.named = record->value("named", false);
  };
  visit_limits(take, limits);
}

template <Listed T>
Json stored(const T& value);
template <Listed T>
void restore(const Json& json, T& value);

template <typename T>
concept Plain = std::constructible_from<Json, const T&> && !requires(const T& value) { value.has_value(); };

template <Plain T>
Json stored(const T& value) {
  return value;
}
template <Plain T>
void restore(const Json& json, T& value) {
  json.get_to(value);
}

template <Listed T>
Json stored(const std::optional<T>& value) {
  return value ? stored(*value) : Json();
}
template <Listed T>
void restore(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) restore(json, value.emplace());
}

// With its unit.
template <typename T>
std::string name_of(const Field& field, const T&) {
  return concat(field.name, std::same_as<T, milliseconds> ? "_ms" : "");
}

template <typename T>
void store_fields(Json& json, const T& value) {
  auto add = [&](const Field& field, const auto& member) {
    if constexpr (requires { stored(member); })
      if (field.in(kRecord)) json[name_of(field, member)] = stored(member);
  };
  FieldsOf<T>::visit(add, value);
}

// What is missing has its default.
template <typename T>
void restore_fields(const Json& json, T& value) {
  auto take = [&](const Field& field, auto& member) {
    if constexpr (requires { restore(json, member); })
      if (const Json* found = field.in(kRecord) ? json.find(name_of(field, member)) : nullptr) restore(*found, member);
  };
  FieldsOf<T>::visit(take, value);
}

template <Listed T>
Json stored(const T& value) {
  Json json = Json::object();
  store_fields(json, value);
  return json;
}
template <Listed T>
void restore(const Json& json, T& value) {
  restore_fields(json, value);
}

// --- whole records -----------------------------------------------------------------------------------------------
Json spec_json(const SandboxInfo& info) {
  Json json = stored(info.spec);
  json["lifecycle"] = stored(info.lifecycle);
  Json& enforced = json["enforced"] = Json::object();
  for (const auto& [name, limit] : info.enforced)
    enforced[name] = json_object({{"value", limit.value}, {"by", limit.enforced_by}});
  json["warnings"] = info.warnings;
  json["network_version"] = info.network_version;
  if (info.network_asked) json["network_asked"] = stored(*info.network_asked);
  Json& ports = json["ports"] = Json::object();
  for (const auto& [port, rule] : info.ports)
    ports[std::to_string(port)] =
        json_object({{"access", port_access_name(rule.access)}, {"generation", rule.generation}});
  return json;
}

void read_spec(const Json& json, SandboxInfo& info) {
  restore(json, info.spec);
  info.spec.lifetime = Lifetime::Long;
  restore(json.value("lifecycle", Json::object()), info.lifecycle);
  const Json enforced = json.value("enforced", Json::object());
  for (const auto& [name, limit] : enforced.items())
    info.enforced[name] = {limit.value("value", ""), limit.value("by", "")};
  info.warnings = json.value("warnings", std::vector<std::string>());
  info.network_version = json.value("network_version", uint64_t{1});
  if (const Json* asked = json.find("network_asked")) restore(*asked, info.network_asked.emplace());
  const Json ports = json.value("ports", Json::object());
  for (const auto& [port, rule] : ports.items()) {
    Result<int64_t> number = parse_integer(port, 1, UINT16_MAX);
    if (!number) throw Json::exception(concat("there is no port '", port, "'"));
    info.ports[static_cast<uint16_t>(*number)] = {
        parse_port_access(rule.value("access", "")).value_or(PortAccess::Private),
        rule.value("generation", uint64_t{0})};
  }
}

Json spec_json(const SessionOrder& order) {
  Json json = stored(order.sandbox);
  store_fields(json, order);
  return json;
}

void read_spec(const Json& json, SessionOrder& order) {
  restore(json, order.sandbox);
  restore_fields(json, order);
}

Json spec_json(const ExecOrder& order) {
  Json json = stored(order.spec);
  store_fields(json, order);
  return json;
}

void read_spec(const Json& json, ExecOrder& order) {
  restore(json, order.spec);
  restore_fields(json, order);
}

// Of the JSON in `spec`; raised where an older server would read it wrongly. Specs without one are of the first.
constexpr int64_t kSpecVersion = 1;

std::string dump(Json json) {
  json["version"] = kSpecVersion;
  return json.dump();
}

Json parse_spec(const std::string& text) {
  Result<Json> json = Json::parse(text);
  if (!json || !json->is_object()) throw Json::exception("it is not a JSON object");
  if (json->value("version", kSpecVersion) > kSpecVersion) throw Json::exception("a newer Cove wrote it");
  return std::move(*json);
}

std::unexpected<Error> damaged(const std::string& what, const std::string& id, const std::string& why) {
  return fail(Code::Internal, concat("the record of ", what, " ", id, " cannot be read: ", why));
}

}  // namespace

SandboxRecord record_of(const SandboxInfo& info) {
  SandboxRecord record;
  record.id = info.spec.id;
  record.project = info.project;
  record.name = info.spec.name;
  record.state = state_name(info.state);
  record.reason = info.reason;
  record.spec = dump(spec_json(info));
  record.created_ms = info.created_ms;
  record.started_ms = info.started_ms;
  record.last_used_ms = info.last_used_ms;
  record.expires_ms = info.expires_ms;
  record.updated_ms = info.created_ms;
  record.binding = info.binding;
  return record;
}

Result<SandboxInfo> info_of(const SandboxRecord& record) try {
  SandboxInfo info;
  info.spec.id = record.id;
  info.spec.name = record.name;
  info.project = record.project;
  std::optional<State> state = parse_state(record.state);
  if (!state) return damaged("sandbox", record.id, concat("there is no state '", record.state, "'"));
  info.state = *state;
  info.reason = record.reason;
  info.created_ms = record.created_ms;
  info.started_ms = record.started_ms;
  info.last_used_ms = record.last_used_ms;
  info.expires_ms = record.expires_ms;
  info.binding = record.binding;
  read_spec(parse_spec(record.spec), info);
  return info;
} catch (const Json::exception& why) {
  return damaged("sandbox", record.id, why.what());
}

ExecRecord record_of(const ExecInfo& info) {
  ExecRecord record;
  record.id = info.id;
  record.sandbox_id = info.sandbox_id;
  record.state = info.state == ExecState::Running ? kExecRunning : kExecEnded;
  record.tag = info.order.tag;
  record.spec = dump(spec_json(info.order));
  if (info.result) record.result = result_text(*info.result);
  record.started_ms = info.started_ms;
  record.ended_ms = info.ended_ms;
  record.position = info.next_seq;
  record.session = info.order.session;
  return record;
}

Result<ExecInfo> info_of(const ExecRecord& record) try {
  ExecInfo info;
  info.id = record.id;
  info.sandbox_id = record.sandbox_id;
  info.state = record.state == kExecRunning ? ExecState::Running : ExecState::Ended;
  info.order.tag = record.tag;
  info.order.session = record.session;
  info.started_ms = record.started_ms;
  info.started_us = record.started_ms * 1000;
  info.ended_ms = record.ended_ms;
  if (!record.result.empty()) info.result = result_of(record);
  info.next_seq = std::max<uint64_t>(1, record.position);
  read_spec(parse_spec(record.spec), info.order);
  return info;
} catch (const Json::exception& why) {
  return damaged("exec", record.id, why.what());
}

SessionRecord record_of(const SessionInfo& info) {
  SessionRecord record;
  record.id = info.id;
  record.project = info.project;
  record.agent = info.order.agent;
  record.scope = scope_name(info.order.scope);
  record.state = info.state == SessionState::Active ? kSessionActive : kSessionEnded;
  record.reason = info.reason;
  record.sandbox_id = info.sandbox_id;
  record.spec = dump(spec_json(info.order));
  record.idle_ms = info.order.idle.count();
  record.created_ms = info.created_ms;
  record.last_used_ms = info.last_used_ms;
  record.ended_ms = info.ended_ms;
  return record;
}

Result<SessionInfo> info_of(const SessionRecord& record) try {
  SessionInfo info;
  info.id = record.id;
  info.project = record.project;
  info.order.agent = record.agent;
  std::optional<SessionScope> scope = parse_session_scope(record.scope);
  if (!scope) return damaged("session", record.id, concat("there is no scope '", record.scope, "'"));
  info.order.scope = *scope;
  info.order.idle = std::chrono::milliseconds(record.idle_ms);
  info.state = record.state == kSessionActive ? SessionState::Active : SessionState::Ended;
  info.reason = record.reason;
  info.sandbox_id = record.sandbox_id;
  info.created_ms = record.created_ms;
  info.last_used_ms = record.last_used_ms;
  info.ended_ms = record.ended_ms;
  read_spec(parse_spec(record.spec), info.order);
  return info;
} catch (const Json::exception& why) {
  return damaged("session", record.id, why.what());
}

std::string record_text(const NetworkPolicy& policy) { return stored(policy).dump(); }

Result<NetworkPolicy> network_policy_of(const std::string& text) try {
  NetworkPolicy policy;
  restore(parse_spec(text), policy);
  return policy;
} catch (const Json::exception& why) {
  return fail(Code::Internal, concat("the record of a network policy cannot be read: ", std::string_view(why.what())));
}

}  // namespace cove::engine
