#include "model/json.h"

#include <cmath>
#include <ctime>

#include "base/encoding.h"
#include "base/json.h"

namespace cove {
namespace {

// What paths and messages may hold besides UTF-8 is shown as U+FFFD when the document is written.
Json stream_json(const CapturedStream& stream) {
  const bool text = is_utf8(stream.data);
  return json_object({{text ? "text" : "base64", text ? stream.data : to_base64(stream.data)},
                      {"bytes", stream.bytes},
                      {"truncated", stream.truncated}});
}

Json usage_json(const Usage& usage) {
  return json_object({{"cpu_user_ms", usage.cpu_user_ms},
                      {"cpu_system_ms", usage.cpu_system_ms},
                      {"memory_peak_bytes", usage.memory_peak_bytes},
                      {"disk_written_bytes", usage.disk_written_bytes},
                      {"processes_peak", usage.processes_peak},
                      {"io_read_bytes", usage.io_read_bytes},
                      {"io_write_bytes", usage.io_write_bytes},
                      {"net_in_bytes", usage.net_in_bytes},
                      {"net_out_bytes", usage.net_out_bytes}});
}

Json limits_json(const EnforcedLimits& limits) {
  Json json = Json::object();
  for (const auto& [name, limit] : limits)
    json[name] = json_object({{"value", limit.value}, {"enforced_by", limit.enforced_by}});
  return json;
}

// The longest part that is UTF-8, where no more than half a character is missing at its end.
std::string_view without_half_character(std::string_view text) {
  for (size_t missing = 0; missing < 4 && missing <= text.size(); ++missing)
    if (std::string_view part = text.substr(0, text.size() - missing); is_utf8(part)) return part;
  return text;
}

Json file_json(const OutputFile& file) {
  if (!file.content) return {{"path", file.path}, {"host_path", file.host_path}, {"bytes", file.bytes}};
  Json json = {{"path", file.path}, {"bytes", file.bytes}};
  std::string_view whole = file.truncated ? without_half_character(*file.content) : *file.content;
  if (is_utf8(whole))
    json["text"] = whole;
  else
    json["base64"] = to_base64(*file.content);
  json["truncated"] = file.truncated;
  return json;
}

Json files_json(const std::vector<OutputFile>& files) {
  Json json = Json::array();
  for (const OutputFile& file : files) json.push_back(file_json(file));
  return json;
}

Json results_json(const std::vector<RichResult>& results) {
  Json json = Json::array();
  for (const RichResult& result : results) json.push_back({{"main", result.main}, {"formats", result.formats}});
  return json;
}

Json denials_json(const std::vector<Denial>& denials) {
  Json json = Json::array();
  for (const Denial& denial : denials) json.push_back(to_json(denial));
  return json;
}

Json language_json(const std::optional<LanguageUse>& language) {
  if (!language) return nullptr;
  return {{"name", language->name},
          {"version", language->version.empty() ? Json(nullptr) : Json(language->version)},
          {"image", language->image},
          {"note", language->note.empty() ? Json(nullptr) : Json(language->note)}};
}

Json optional_json(const std::optional<int>& number) { return number ? Json(*number) : Json(nullptr); }

// RFC 3339 in UTC, with milliseconds.
std::string time_text(std::chrono::system_clock::time_point time) {
  auto since = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch();
  auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  time_t count = static_cast<time_t>(seconds.count());
  struct tm parts = {};
  ::gmtime_r(&count, &parts);
  char date[32];
  size_t length = std::strftime(date, sizeof date, "%FT%T", &parts);
  char text[48];
  std::snprintf(text, sizeof text, "%.*s.%03dZ", static_cast<int>(length), date,
                static_cast<int>((since - seconds).count()));
  return text;
}

std::string dump(const Json& json, JsonLayout layout) { return json.dump(layout == JsonLayout::Indented ? 2 : -1); }

double rounded(double milliseconds) { return std::round(milliseconds * 1000) / 1000; }

}  // namespace

Json to_json(const Denial& denial) {
  Json json = json_object({{"what", denial.what}, {"why", denial.why}});
  if (!denial.host.empty()) json.update(json_object({{"host", denial.host}, {"port", denial.port}}));
  if (!denial.rule.empty()) json["rule"] = denial.rule;
  if (!denial.code.empty()) json["code"] = denial.code;
  if (!denial.hint.empty()) json["hint"] = denial.hint;
  return json;
}

std::string to_json(const ExecResult& result, JsonLayout layout) {
  Json json = json_object({{"exec_id", result.exec_id},
                           {"sandbox_id", result.sandbox_id.empty() ? Json(nullptr) : Json(result.sandbox_id)},
                           {"status", status_name(result.status)},
                           {"phase", phase_name(result.phase)},
                           {"exit_code", optional_json(result.exit_code)},
                           {"signal", optional_json(result.signal)},
                           {"stdout", stream_json(result.out)},
                           {"stderr", stream_json(result.err)},
                           {"started_at", time_text(result.started_at)},
                           {"duration_ms", rounded(result.duration_ms)},
                           {"usage", usage_json(result.usage)},
                           {"limits", limits_json(result.limits)},
                           {"where", result.where},
                           {"why", result.why},
                           {"language", language_json(result.language)},
                           {"files", files_json(result.files)},
                           {"results", results_json(result.results)},
                           {"denials", denials_json(result.denials)}});
  if (result.context_id.empty()) return dump(json, layout);
  json["context_id"] = result.context_id;
  json["error"] = nullptr;
  if (const auto& error = result.error)
    json["error"] = {{"name", error->name}, {"value", error->value}, {"traceback", error->traceback}};
  return dump(json, layout);
}

std::string to_json(const Diagnosis& diagnosis, JsonLayout layout) {
  Json findings = Json::array();
  for (const Finding& finding : diagnosis.findings)
    findings.push_back({{"name", finding.name},
                        {"standing", standing_name(finding.standing)},
                        {"value", finding.value},
                        {"effect", finding.effect},
                        {"remedy", finding.remedy}});
  Json runtimes = Json::array();
  for (const RuntimeFact& runtime : diagnosis.runtimes)
    runtimes.push_back({{"name", runtime.name},
                        {"title", runtime.title},
                        {"available", runtime.available},
                        {"version", runtime.version},
                        {"program", runtime.program},
                        {"problem", runtime.problem},
                        {"remedy", runtime.remedy}});
  Json json = {{"version", diagnosis.version},         {"mode", diagnosis.mode},
               {"level", level_name(diagnosis.level)}, {"meaning", level_meaning(diagnosis.level)},
               {"findings", std::move(findings)},      {"runtimes", std::move(runtimes)}};
  return dump(json, layout);
}

}  // namespace cove
