#include "cli/sandbox_body.h"

namespace cove::cli {
namespace {

template <typename T>
void add(Json& json, const char* name, const Limit<T>& limit) {
  if (limit.named) json[name] = limit.value;
}

}  // namespace

Json limits_body(const Limits& limits) {
  Json json = Json::object();
  add(json, "cpus", limits.cpus);
  add(json, "memory", limits.memory);
  add(json, "disk", limits.disk);
  add(json, "inodes", limits.inodes);
  add(json, "processes", limits.processes);
  add(json, "open_files", limits.open_files);
  add(json, "file_size", limits.file_size);
  add(json, "io_read", limits.io_read);
  add(json, "io_write", limits.io_write);
  return json;
}

Json exec_limits_body(const Limits& limits) {
  Json json = Json::object();
  if (limits.timeout.named) json["timeout"] = static_cast<double>(limits.timeout.value.count()) / 1000;
  add(json, "output", limits.output);
  return json;
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
