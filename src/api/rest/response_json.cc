#include "api/rest/response_json.h"

#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"
#include "model/limit_fields.h"

namespace cove::api {
namespace {

Json value_json(double value) { return value; }
Json value_json(uint64_t value) { return value; }
Json value_json(std::chrono::milliseconds value) { return seconds_json(value); }

Json limits_json(const Limits& limits) {
  Json json = Json::object();
  visit_limits([&](const LimitField& field, const auto& limit) { json[api_name(field)] = value_json(limit.value); },
               limits);
  return json;
}

Json enforced_json(const EnforcedLimits& limits) {
  Json json = Json::object();
  for (const auto& [name, limit] : limits)
    json[name] = json_object({{"value", limit.value}, {"enforced_by", limit.enforced_by}});
  return json;
}

Json workspace_json(const Workspace& workspace) {
  if (workspace.access == Access::None) return nullptr;
  Json json = {{"path", workspace.path}, {"access", access_name(workspace.access)}};
  const GitAuthor& author = workspace.author;
  if (author != GitAuthor{}) json["author"] = Json{{"name", author.name}, {"email", author.email}};
  return json;
}

Json duration_or_null(std::chrono::milliseconds time) { return time.count() == 0 ? Json() : seconds_json(time); }

Json lifecycle_json(const engine::Lifecycle& lifecycle) {
  return json_object({{"idle", duration_or_null(lifecycle.idle)},
                      {"max", duration_or_null(lifecycle.max)},
                      {"on_expire", on_expire_name(lifecycle.on_expire)},
                      {"auto_resume", lifecycle.auto_resume}});
}

template <typename Pairs>
Json map_json(const Pairs& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json window_json(const std::optional<WindowSize>& size) {
  if (!size) return nullptr;
  return {{"rows", size->rows}, {"cols", size->columns}};
}

}  // namespace

std::string dump(const Json& document) { return document.dump(); }

std::string dump_with(const Json& document, std::string_view name, std::string_view json) {
  std::string text = dump(document);
  text.pop_back();
  return concat(text, text.size() > 1 ? "," : "", "\"", name, "\":", json, "}");
}

Json time_json(int64_t milliseconds) { return milliseconds == 0 ? Json() : Json(format_time(milliseconds)); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json seconds_json(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return time.count() / 1000;
  return static_cast<double>(time.count()) / 1000;
}

namespace {

Json image_defaults_json(const ImageDefaults& defaults) {
  return json_object({{"entrypoint", defaults.entrypoint},
                      {"cmd", defaults.cmd},
                      {"cwd", text_or_null(defaults.cwd)},
                      {"env", map_json(defaults.env)}});
}

}  // namespace

Json sandbox_json(const engine::SandboxInfo& sandbox) {
  const SandboxSpec& spec = sandbox.spec;
  return json_object(
      {{"id", spec.id},
       {"name", text_or_null(spec.name)},
       {"project", sandbox.project},
       {"state", engine::state_name(sandbox.state)},
       {"reason", sandbox.reason},
       {"image", spec.image},
       {"image_defaults", image_defaults_json(spec.image_defaults)},
       {"runtime", spec.runtime},
       {"user", spec.user},
       {"labels", map_json(spec.labels)},
       {"env", map_json(spec.env)},
       {"limits", limits_json(spec.limits)},
       {"enforced", enforced_json(sandbox.enforced)},
       {"warnings", sandbox.warnings},
       {"network", "none"},
       {"workspace", workspace_json(spec.workspace)},
       {"lifecycle", lifecycle_json(sandbox.lifecycle)},
       {"nesting", spec.nesting},
       {"created_at", time_json(sandbox.created_ms)},
       {"started_at", time_json(sandbox.started_ms)},
       {"expires_at", time_json(sandbox.expires_ms)},
       {"last_used_at", time_json(sandbox.last_used_ms != 0 ? sandbox.last_used_ms : sandbox.created_ms)}});
}

Json session_json(const engine::SessionInfo& session) {
  const engine::SessionOrder& order = session.order;
  const SandboxSpec& spec = order.sandbox;
  bool ends = session.state == engine::SessionState::Active && order.idle.count() > 0;
  return {{"id", session.id},
          {"project", session.project},
          {"agent", text_or_null(order.agent)},
          {"scope", engine::scope_name(order.scope)},
          {"mode", engine::mode_name(order.mode)},
          {"state", session.state == engine::SessionState::Active ? "active" : "ended"},
          {"reason", session.reason},
          {"sandbox_id", text_or_null(session.sandbox_id)},
          {"image", spec.image.empty() ? SandboxSpec().image : spec.image},
          {"runtime", spec.runtime},
          {"workspace", workspace_json(spec.workspace)},
          {"labels", map_json(spec.labels)},
          {"env", map_json(spec.env)},
          {"limits", limits_json(spec.limits)},
          {"lifecycle", {{"idle", duration_or_null(order.idle)}}},
          {"created_at", time_json(session.created_ms)},
          {"last_used_at", time_json(session.last_used_ms)},
          {"expires_at", time_json(ends ? session.last_used_ms + order.idle.count() : 0)},
          {"ended_at", time_json(session.ended_ms)}};
}

Json stats_json(const Stats& stats, const Limits& limits, int64_t now_ms) {
  return {{"time", time_json(now_ms)},
          {"cpu_user_ms", stats.total.cpu_user_ms},
          {"cpu_system_ms", stats.total.cpu_system_ms},
          {"memory_bytes", stats.memory_bytes},
          {"memory_peak_bytes", stats.total.memory_peak_bytes},
          {"processes", stats.processes},
          {"processes_peak", stats.total.processes_peak},
          {"disk_bytes", stats.layer_bytes},
          {"disk_limit", limits.disk.value},
          {"memory_limit", limits.memory.value},
          {"cpus", limits.cpus.value},
          {"io_read_bytes", stats.total.io_read_bytes},
          {"io_write_bytes", stats.total.io_write_bytes}};
}

std::string exec_json(const engine::ExecInfo& exec) {
  Json document = {{"id", exec.id},
                   {"sandbox_id", exec.sandbox_id},
                   {"session_id", text_or_null(exec.order.session)},
                   {"state", exec.state == engine::ExecState::Running ? "running" : "ended"},
                   {"tag", text_or_null(exec.order.tag)},
                   {"argv", exec.order.spec.argv},
                   {"shell", text_or_null(exec.order.shell)},
                   {"cwd", exec.order.spec.cwd},
                   {"user", exec.order.spec.user},
                   {"pty", window_json(exec.order.spec.pty)},
                   {"started_at", time_json(exec.started_ms)},
                   {"ended_at", time_json(exec.ended_ms)},
                   {"next_seq", exec.next_seq}};
  return dump_with(document, "result", exec.result.empty() ? "null" : exec.result);
}

Json event_json(const EventRecord& event) {
  Json data = Json::parse(event.data).value_or(Json());
  return {{"seq", event.seq},
          {"time", time_json(event.time_ms)},
          {"kind", event.kind},
          {"project", event.project},
          {"sandbox_id", text_or_null(event.sandbox_id)},
          {"exec_id", text_or_null(event.exec_id)},
          {"actor", event.actor},
          {"data", data.is_object() ? std::move(data) : Json::object()}};
}

Json key_json(const KeyRecord& key) {
  return {{"id", key.id},
          {"name", key.name},
          {"project", key.project},
          {"scopes", split(key.scopes, ',')},
          {"created_at", time_json(key.created_ms)},
          {"expires_at", time_json(key.expires_ms)}};
}

void add_data(Json& document, const std::string& data) {
  if (is_utf8(data))
    document["text"] = data;
  else
    document["base64"] = to_base64(data);
}

const char* stream_name(engine::Stream stream) { return stream == engine::Stream::Err ? "stderr" : "stdout"; }

std::string page_json(std::string_view name, const std::vector<std::string>& items, const std::string& next) {
  return concat("{\"", name, "\":[", join(items, ","), "],\"next\":", dump(text_or_null(next)), "}");
}

}  // namespace cove::api
