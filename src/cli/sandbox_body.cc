#include "cli/sandbox_body.h"

#include <concepts>

#include "model/limit_fields.h"
#include "model/sandbox_fields.h"

namespace cove::cli {
namespace {

Json value_json(double value) { return value; }
Json value_json(uint64_t value) { return value; }
Json value_json(std::chrono::milliseconds value) { return value.count(); }

}  // namespace

Json limits_body(const Limits& limits) {
  Json json = Json::object();
  auto add = [&](const LimitField& field, const auto& limit) {
    if (limit.named) json[api_name(field)] = value_json(limit.value);
  };
  visit_limits(add, limits);
  return json;
}

Json exec_limits_body(const Limits& limits) {
  Limits own = limits;
  visit_limits([](const LimitField& field, auto& limit) { limit.named = limit.named && field.of == LimitOf::Exec; },
               own);
  return limits_body(own);
}

Json environment_body(const Environment& environment) {
  Json json = Json::object();
  for (const auto& [name, value] : environment) json[name] = value;
  return json;
}

namespace {

// --- a member of each type, as it is asked for; null where nothing is --------------------------------------------
Json asked(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json asked(const std::vector<std::string>& texts) { return texts.empty() ? Json() : Json(texts); }
Json asked(const std::map<std::string, std::string>& texts) { return texts.empty() ? Json() : Json(texts); }
Json asked(const Environment& env) { return env.empty() ? Json() : environment_body(env); }
Json asked(uint64_t number) { return number == 0 ? Json() : Json(number); }
Json asked(std::same_as<bool> auto flag) { return flag ? Json(true) : Json(); }
Json asked(Access access) { return access_name(access); }
Json asked(Strictness strictness) { return asked(strictness == Strictness::Strict); }
Json asked(NetworkTier tier) { return tier == NetworkTier() ? Json() : Json(tier_name(tier)); }
Json asked(const Limits& limits) {
  Json json = limits_body(limits);
  return json.empty() ? Json() : json;
}

template <Listed T>
Json asked(const T& value);

Json asked(const Workspace& workspace) { return workspace.access == Access::None ? Json() : workspace_body(workspace); }

template <Listed T>
Json fields_body(const T& value) {
  Json body = Json::object();
  auto add = [&](const Field& field, const auto& member) {
    if constexpr (requires { asked(member); }) {
      if (!field.in(kRequest)) return;
      if (Json json = asked(member); !json.is_null()) body[field.name] = std::move(json);
    }
  };
  FieldsOf<T>::visit(add, value);
  return body;
}

template <Listed T>
Json asked(const T& value) {
  Json body = fields_body(value);
  return body.empty() ? Json() : body;
}

}  // namespace

Json workspace_body(const Workspace& workspace) { return fields_body(workspace); }

Json network_body(const NetworkPolicy& network) { return asked(network); }

Json sandbox_body(const SandboxSpec& spec) { return fields_body(spec); }

}  // namespace cove::cli
