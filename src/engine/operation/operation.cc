#include "engine/operation/operation.h"

#include "base/json.h"
#include "base/text.h"

namespace cove::engine {
namespace {

constexpr const char* kStateNames[] = {"running", "succeeded", "failed", "cancelled"};

std::string progress_json(const OperationProgress& progress) {
  Json json = {
      {"done_bytes", progress.done_bytes}, {"total_bytes", progress.total_bytes}, {"message", progress.message}};
  if (!progress.details.empty()) json["details"] = progress.details;
  return json.dump();
}

OperationProgress read_progress(const Json& json) {
  OperationProgress progress;
  progress.done_bytes = json.value("done_bytes", uint64_t{0});
  progress.total_bytes = json.value("total_bytes", uint64_t{0});
  progress.message = json.value("message", "");
  progress.details = json.value("details", "");
  return progress;
}

OperationError read_error(const Json& json) {
  return {json.value("code", "internal"), json.value("message", ""), json.value("hint", "")};
}

Json parse_object(const std::string& text) {
  Json json = Json::parse(text).value_or(Json());
  return json.is_object() ? json : Json::object();
}

}  // namespace

const char* operation_state_name(OperationState state) { return kStateNames[static_cast<size_t>(state)]; }

std::optional<OperationState> parse_operation_state(const std::string& name) {
  for (size_t i = 0; i < std::size(kStateNames); ++i)
    if (name == kStateNames[i]) return static_cast<OperationState>(i);
  return std::nullopt;
}

std::string error_json(const OperationError& error) {
  return Json({{"code", error.code}, {"message", error.message}, {"hint", error.hint}}).dump();
}

OperationRecord record_of(const OperationInfo& info) {
  OperationRecord record;
  record.id = info.id;
  record.project = info.project;
  record.kind = info.kind;
  record.target = info.target;
  record.state = operation_state_name(info.state);
  record.progress = progress_json(info.progress);
  record.result = info.result;
  record.error = info.error ? error_json(*info.error) : "";
  record.version = info.version;
  record.created_ms = info.created_ms;
  record.updated_ms = info.updated_ms;
  record.ended_ms = info.ended_ms;
  return record;
}

Result<OperationInfo> info_of(const OperationRecord& record) try {
  OperationInfo info;
  info.id = record.id;
  info.project = record.project;
  info.kind = record.kind;
  info.target = record.target;
  std::optional<OperationState> state = parse_operation_state(record.state);
  if (!state) return fail(Code::Internal, concat("the record of operation ", record.id, " is damaged"));
  info.state = *state;
  info.progress = read_progress(parse_object(record.progress));
  info.result = record.result;
  if (!record.error.empty()) info.error = read_error(parse_object(record.error));
  info.version = record.version;
  info.created_ms = record.created_ms;
  info.updated_ms = record.updated_ms;
  info.ended_ms = record.ended_ms;
  return info;
} catch (const Json::exception&) {
  return fail(Code::Internal, concat("the record of operation ", record.id, " is damaged"));
}

}  // namespace cove::engine
