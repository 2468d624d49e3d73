#include "engine/record_codec.h"

#include "base/json.h"
#include "base/text.h"
#include "model/runtime_kind.h"

namespace cove::engine {
namespace {

Json json_of(const Workspace& workspace) {
  Json json = json_object({{"path", workspace.path}, {"access", access_name(workspace.access)}});
  const GitAuthor& author = workspace.author;
  if (author != GitAuthor{}) json["author"] = json_object({{"name", author.name}, {"email", author.email}});
  if (workspace.inode != 0) json["device"] = workspace.device, json["inode"] = workspace.inode;
  return json;
}

template <typename T>
Json limit_json(const Limit<T>& limit) {
  return json_object({{"value", limit.value}, {"named", limit.named}});
}

template <typename T>
void read_limit(const Json& json, const char* name, Limit<T>& limit) {
  if (!json.contains(name)) return;
  limit.value = json[name].value("value", limit.value);
  limit.named = json[name].value("named", false);
}

struct LimitField {
  const char* name;
  Limit<uint64_t> Limits::* field;
};
constexpr LimitField kFields[] = {
    {"memory", &Limits::memory},         {"disk", &Limits::disk},
    {"inodes", &Limits::inodes},         {"processes", &Limits::processes},
    {"open_files", &Limits::open_files}, {"file_size", &Limits::file_size},
    {"io_read", &Limits::io_read},       {"io_write", &Limits::io_write},
    {"output", &Limits::output},
};

Json json_of(const Limits& limits) {
  Json json;
  json["cpus"] = limit_json(limits.cpus);
  for (const LimitField& row : kFields) json[row.name] = limit_json(limits.*row.field);
  json["timeout_ms"] = json_object({{"value", limits.timeout.value.count()}, {"named", limits.timeout.named}});
  json["grace_ms"] = limits.grace.count();
  json["retained"] = limits.retained;
  return json;
}

Limits limits_of(const Json& json) {
  Limits limits;
  read_limit(json, "cpus", limits.cpus);
  for (const LimitField& row : kFields) read_limit(json, row.name, limits.*row.field);
  if (json.contains("timeout_ms")) {
    limits.timeout.value = std::chrono::milliseconds(json["timeout_ms"].value("value", int64_t{0}));
    limits.timeout.named = json["timeout_ms"].value("named", false);
  }
  limits.grace = std::chrono::milliseconds(json.value("grace_ms", limits.grace.count()));
  limits.retained = json.value("retained", limits.retained);
  return limits;
}

Json json_of(const Environment& env) {
  Json json = Json::array();
  for (const auto& [name, value] : env) json.push_back({name, value});
  return json;
}

Environment environment_of(const Json& json) {
  Environment env;
  for (const Json& entry : json)
    if (entry.is_array() && entry.size() == 2)
      env.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
  return env;
}

Json json_of(const Lifecycle& lifecycle) {
  return json_object({{"idle_ms", lifecycle.idle.count()},
                      {"max_ms", lifecycle.max.count()},
                      {"on_expire", on_expire_name(lifecycle.on_expire)},
                      {"auto_resume", lifecycle.auto_resume}});
}

Lifecycle lifecycle_of(const Json& json) {
  Lifecycle lifecycle;
  lifecycle.idle = std::chrono::milliseconds(json.value("idle_ms", int64_t{0}));
  lifecycle.max = std::chrono::milliseconds(json.value("max_ms", int64_t{0}));
  lifecycle.on_expire = parse_on_expire(json.value("on_expire", "stop")).value_or(OnExpire::Stop);
  lifecycle.auto_resume = json.value("auto_resume", false);
  return lifecycle;
}

Json spec_json(const SandboxInfo& info) {
  const SandboxSpec& spec = info.spec;
  Json enforced = Json::object();
  for (const auto& [name, limit] : info.enforced)
    enforced[name] = json_object({{"value", limit.value}, {"by", limit.enforced_by}});
  return json_object({{"image", spec.image},
                      {"image_defaults", json_object({{"env", json_of(spec.image_defaults.env)},
                                                      {"entrypoint", spec.image_defaults.entrypoint},
                                                      {"cmd", spec.image_defaults.cmd},
                                                      {"cwd", spec.image_defaults.cwd}})},
                      {"runtime", spec.runtime},
                      {"user", spec.user},
                      {"labels", spec.labels},
                      {"env", json_of(spec.env)},
                      {"limits", json_of(spec.limits)},
                      {"strict", spec.strictness == Strictness::Strict},
                      {"workspace", json_of(spec.workspace)},
                      {"nesting", spec.nesting},
                      {"one_use", spec.one_use},
                      {"lifecycle", json_of(info.lifecycle)},
                      {"enforced", std::move(enforced)},
                      {"warnings", info.warnings}});
}

void read_spec(const Json& json, SandboxInfo& info) {
  SandboxSpec& spec = info.spec;
  spec.image = json.value("image", "host");
  spec.runtime = json.value("runtime", kNativeRuntime);
  Json defaults = json.value("image_defaults", Json::object());
  spec.image_defaults.env = environment_of(defaults.value("env", Json::array()));
  spec.image_defaults.entrypoint = defaults.value("entrypoint", std::vector<std::string>());
  spec.image_defaults.cmd = defaults.value("cmd", std::vector<std::string>());
  spec.image_defaults.cwd = defaults.value("cwd", "");
  spec.user = json.value("user", "user");
  spec.labels = json.value("labels", std::map<std::string, std::string>());
  spec.env = environment_of(json.value("env", Json::array()));
  spec.limits = limits_of(json.value("limits", Json::object()));
  spec.strictness = json.value("strict", false) ? Strictness::Strict : Strictness::FallBack;
  Json workspace = json.value("workspace", Json::object());
  spec.workspace.path = workspace.value("path", "");
  spec.workspace.access = access_of(workspace.value("access", "none")).value_or(Access::None);
  Json author = workspace.value("author", Json::object());
  spec.workspace.author = {author.value("name", ""), author.value("email", "")};
  spec.workspace.device = workspace.value("device", uint64_t{0});
  spec.workspace.inode = workspace.value("inode", uint64_t{0});
  spec.nesting = json.value("nesting", false);
  spec.one_use = json.value("one_use", false);
  spec.lifetime = Lifetime::Long;
  info.lifecycle = lifecycle_of(json.value("lifecycle", Json::object()));
  Json enforced = json.value("enforced", Json::object());
  for (const auto& [name, limit] : enforced.items())
    info.enforced[name] = {limit.value("value", ""), limit.value("by", "")};
  info.warnings = json.value("warnings", std::vector<std::string>());
}

Json spec_json(const SessionOrder& order) {
  const SandboxSpec& spec = order.sandbox;
  return {{"mode", mode_name(order.mode)},  {"image", spec.image},
          {"runtime", spec.runtime},        {"runtime_named", order.runtime_named},
          {"labels", spec.labels},          {"env", json_of(spec.env)},
          {"limits", json_of(spec.limits)}, {"workspace", json_of(spec.workspace)}};
}

void read_spec(const Json& json, SessionOrder& order) {
  // What is not known is not taken for something looser.
  order.mode = parse_mode(json.value("mode", "all")).value_or(Mode::All);
  SandboxSpec& spec = order.sandbox;
  spec.image = json.value("image", "");
  spec.runtime = json.value("runtime", kNativeRuntime);
  order.runtime_named = json.value("runtime_named", false);
  spec.labels = json.value("labels", std::map<std::string, std::string>());
  spec.env = environment_of(json.value("env", Json::array()));
  spec.limits = limits_of(json.value("limits", Json::object()));
  Json workspace = json.value("workspace", Json::object());
  spec.workspace.path = workspace.value("path", "");
  spec.workspace.access = access_of(workspace.value("access", "none")).value_or(Access::None);
  spec.workspace.device = workspace.value("device", uint64_t{0});
  spec.workspace.inode = workspace.value("inode", uint64_t{0});
}

Json spec_json(const ExecOrder& order) {
  Json json = json_object({{"argv", order.spec.argv},
                           {"shell", order.shell},
                           {"language", order.language},
                           {"env", json_of(order.spec.env)},
                           {"cwd", order.spec.cwd},
                           {"user", order.spec.user},
                           {"input", order.spec.input},
                           {"detached", order.detached},
                           {"limits", json_of(order.limits)}});
  if (!order.placed.empty()) json["placed"] = order.placed;
  if (!order.spec.compile.empty()) json["compile"] = order.spec.compile;
  if (order.used)
    json["used"] = {{"name", order.used->name},
                    {"version", order.used->version},
                    {"image", order.used->image},
                    {"note", order.used->note}};
  if (order.spec.pty) json["pty"] = {{"rows", order.spec.pty->rows}, {"columns", order.spec.pty->columns}};
  return json;
}

void read_spec(const Json& json, ExecOrder& order) {
  order.spec.argv = json.value("argv", std::vector<std::string>());
  order.shell = json.value("shell", "");
  order.language = json.value("language", "");
  order.spec.env = environment_of(json.value("env", Json::array()));
  order.spec.cwd = json.value("cwd", "");
  order.spec.user = json.value("user", "");
  order.spec.input = json.value("input", true);
  order.detached = json.value("detached", false);
  order.placed = json.value("placed", "");
  order.spec.compile = json.value("compile", std::vector<std::string>());
  if (json.contains("used"))
    order.used = LanguageUse{json["used"].value("name", ""), json["used"].value("version", ""),
                             json["used"].value("image", ""), json["used"].value("note", "")};
  order.limits = limits_of(json.value("limits", Json::object()));
  if (!json.contains("pty")) return;
  order.spec.pty = WindowSize{json["pty"].value("rows", uint16_t{24}), json["pty"].value("columns", uint16_t{80})};
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
  record.result = info.result;
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
  info.result = record.result;
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

}  // namespace cove::engine
