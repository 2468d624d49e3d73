#include "engine/result_codec.h"

#include <array>
#include <chrono>

#include "base/encoding.h"
#include "base/json.h"
#include "model/json.h"

namespace cove::engine {
namespace {

using Clock = std::chrono::system_clock;

constexpr ExecStatus kStatuses[] = {ExecStatus::Success,   ExecStatus::Error,  ExecStatus::Timeout,
                                    ExecStatus::OomKilled, ExecStatus::Killed, ExecStatus::LimitExceeded};

struct UsageField {
  const char* name;
  uint64_t Usage::* field;
};
constexpr UsageField kUsage[] = {{"cpu_user_ms", &Usage::cpu_user_ms},
                                 {"cpu_system_ms", &Usage::cpu_system_ms},
                                 {"memory_peak_bytes", &Usage::memory_peak_bytes},
                                 {"disk_written_bytes", &Usage::disk_written_bytes},
                                 {"processes_peak", &Usage::processes_peak},
                                 {"io_read_bytes", &Usage::io_read_bytes},
                                 {"io_write_bytes", &Usage::io_write_bytes},
                                 {"net_in_bytes", &Usage::net_in_bytes},
                                 {"net_out_bytes", &Usage::net_out_bytes}};

// {"text": …} where it is UTF-8, else {"base64": …}.
Json bytes_json(const std::string& bytes) {
  if (is_utf8(bytes)) return json_object({{"text", bytes}});
  return json_object({{"base64", to_base64(bytes)}});
}

std::string bytes_of(const Json& json) {
  if (!json.contains("base64")) return json.value("text", "");
  std::optional<std::string> bytes = from_base64(json.at("base64").as_string());
  if (!bytes) throw Json::exception("'base64' is damaged");
  return std::move(*bytes);
}

Json json_of(const CapturedStream& stream) {
  Json json = bytes_json(stream.data);
  json["bytes"] = stream.bytes;
  json["truncated"] = stream.truncated;
  return json;
}

CapturedStream stream_of(const Json& json) {
  return {bytes_of(json), json.value("bytes", uint64_t{0}), json.value("truncated", false)};
}

Json json_of(const Usage& usage) {
  Json json = Json::object();
  for (const UsageField& row : kUsage) json[row.name] = usage.*row.field;
  return json;
}

Usage usage_of(const Json& json) {
  Usage usage;
  for (const UsageField& row : kUsage) usage.*row.field = json.value(row.name, uint64_t{0});
  return usage;
}

Json json_of(const EnforcedLimits& limits) {
  Json json = Json::object();
  for (const auto& [name, limit] : limits)
    json[name] = json_object({{"value", limit.value}, {"enforced_by", limit.enforced_by}});
  return json;
}

EnforcedLimits limits_of(const Json& json) {
  EnforcedLimits limits;
  for (const auto& [name, limit] : json.items())
    limits[name] = {limit.value("value", ""), limit.value("enforced_by", "")};
  return limits;
}

Json json_of(const OutputFile& file) {
  Json json = json_object({{"path", file.path}, {"host_path", file.host_path}, {"bytes", file.bytes}});
  if (file.content) json["content"] = bytes_json(*file.content);
  json["truncated"] = file.truncated;
  return json;
}

OutputFile file_of(const Json& json) {
  OutputFile file{json.value("path", ""), json.value("host_path", ""), json.value("bytes", uint64_t{0})};
  if (json.contains("content")) file.content = bytes_of(json.at("content"));
  file.truncated = json.value("truncated", false);
  return file;
}

Json json_of(const RichResult& result) {
  Json json = json_object({{"main", result.main}, {"formats", result.formats}});
  if (!result.display_id.empty()) json["display_id"] = result.display_id;
  return json;
}

RichResult rich_result_of(const Json& json) {
  return {json.value("main", false), json.value("formats", Json::object()), json.value("display_id", "")};
}

Json json_of(const Denial& denial) { return to_json(denial); }
Denial denial_of(const Json& json) {
  return {.what = json.value("what", ""),
          .why = json.value("why", ""),
          .host = json.value("host", ""),
          .port = json.value("port", uint16_t{0}),
          .rule = json.value("rule", ""),
          .code = json.value("code", ""),
          .hint = json.value("hint", "")};
}

Json json_of(const LanguageUse& use) {
  return json_object({{"name", use.name}, {"version", use.version}, {"image", use.image}, {"note", use.note}});
}

// What is not known was null in records of earlier versions.
std::string text_of(const Json& json, std::string_view name) {
  const Json* text = json.find(name);
  return text && !text->is_null() ? text->as_string() : "";
}

LanguageUse language_of(const Json& json) {
  return {text_of(json, "name"), text_of(json, "version"), text_of(json, "image"), text_of(json, "note")};
}

Json json_of(const CodeError& error) {
  return json_object({{"name", error.name}, {"value", error.value}, {"traceback", error.traceback}});
}
CodeError error_of(const Json& json) {
  return {json.value("name", ""), json.value("value", ""), json.value("traceback", "")};
}

template <typename T>
Json list_json(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(json_of(value));
  return json;
}

template <typename T>
std::vector<T> list_of(const Json& json, std::string_view name, T (*read)(const Json&)) {
  std::vector<T> values;
  if (const Json* list = json.find(name))
    for (const Json& each : *list) values.push_back(read(each));
  return values;
}

template <typename T>
std::optional<T> optional_of(const Json& json, std::string_view name, T (*read)(const Json&)) {
  const Json* value = json.find(name);
  if (!value || value->is_null()) return std::nullopt;
  return read(*value);
}

int64_t milliseconds_of(Clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
}

int number_of(const Json& json) { return json.get<int>(); }

ExecStatus status_of(const std::string& name) {
  for (ExecStatus status : kStatuses)
    if (name == status_name(status)) return status;
  throw Json::exception("there is no such status");
}

}  // namespace

std::string result_text(const ExecResult& result) {
  Json json = json_object({{"status", status_name(result.status)},
                           {"phase", phase_name(result.phase)},
                           {"exit_code", result.exit_code},
                           {"signal", result.signal},
                           {"stdout", json_of(result.out)},
                           {"stderr", json_of(result.err)},
                           {"started_ms", milliseconds_of(result.started_at)},
                           {"duration_ms", result.duration_ms},
                           {"usage", json_of(result.usage)},
                           {"limits", json_of(result.limits)},
                           {"where", result.where},
                           {"why", result.why},
                           {"started", result.started},
                           {"files", list_json(result.files)},
                           {"results", list_json(result.results)},
                           {"denials", list_json(result.denials)}});
  if (result.language) json["language"] = json_of(*result.language);
  if (!result.context_id.empty()) json["context_id"] = result.context_id;
  if (result.error) json["error"] = json_of(*result.error);
  return json.dump();
}

ExecResult result_of(const ExecRecord& record) {
  const Json json = [&] {
    Result<Json> parsed = Json::parse(record.result);
    if (!parsed || !parsed->is_object()) throw Json::exception("it is not a JSON object");
    return std::move(*parsed);
  }();
  ExecResult result;
  result.exec_id = record.id;
  result.sandbox_id = record.sandbox_id;
  result.started_at = Clock::time_point(std::chrono::milliseconds(json.value("started_ms", record.started_ms)));
  result.status = status_of(json.value("status", ""));
  result.phase = json.value("phase", "run") == phase_name(Phase::Compile) ? Phase::Compile : Phase::Run;
  result.exit_code = optional_of(json, "exit_code", number_of);
  result.signal = optional_of(json, "signal", number_of);
  result.out = stream_of(json["stdout"]);
  result.err = stream_of(json["stderr"]);
  result.duration_ms = json.value("duration_ms", 0.0);
  result.usage = usage_of(json["usage"]);
  result.limits = limits_of(json["limits"]);
  result.where = json.value("where", "sandbox");
  result.why = json.value("why", "");
  result.started = json.value("started", true);
  result.files = list_of(json, "files", file_of);
  result.results = list_of(json, "results", rich_result_of);
  result.denials = list_of(json, "denials", denial_of);
  result.language = optional_of(json, "language", language_of);
  result.context_id = json.value("context_id", "");
  result.error = optional_of(json, "error", error_of);
  return result;
}

}  // namespace cove::engine
