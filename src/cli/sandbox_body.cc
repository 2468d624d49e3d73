#include "cli/sandbox_body.h"

#include "model/limit_fields.h"

namespace cove::cli {
namespace {

Json value_json(double value) { return value; }
Json value_json(uint64_t value) { return value; }
Json value_json(std::chrono::milliseconds value) { return static_cast<double>(value.count()) / 1000; }

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

Json workspace_body(const Workspace& workspace) {
  Json json = {{"path", workspace.path}, {"access", access_name(workspace.access)}};
  const GitAuthor& author = workspace.author;
  if (author != GitAuthor{}) json["author"] = {{"name", author.name}, {"email", author.email}};
  return json;
}

Json sandbox_body(const SandboxSpec& spec) {
  Json json = {{"image", spec.image}};
  if (!spec.user.empty()) json["user"] = spec.user;
  if (!spec.name.empty()) json["name"] = spec.name;
  if (!spec.labels.empty()) json["labels"] = spec.labels;
  if (!spec.env.empty()) json["env"] = environment_body(spec.env);
  Json limits = limits_body(spec.limits);
  if (!limits.empty()) json["limits"] = std::move(limits);
  if (spec.workspace.access != Access::None) json["workspace"] = workspace_body(spec.workspace);
  if (!spec.runtime.empty()) json["runtime"] = spec.runtime;
  if (spec.nesting) json["nesting"] = true;
  if (spec.strictness == Strictness::Strict) json["strict"] = true;
  return json;
}

}  // namespace cove::cli
