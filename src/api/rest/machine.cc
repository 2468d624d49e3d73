// The machine, the server's settings, and what sandboxes can be made of.
#include <sys/statvfs.h>

#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/response_json.h"
#include "base/text.h"
#include "run/maxima.h"

namespace cove::api {
namespace {

uint64_t disk_of(const std::string& path) {
  struct statvfs info = {};
  return ::statvfs(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.f_blocks) * info.f_frsize : 0;
}

Json capacity_json(const Config& config) {
  const Limits most = machine_maxima().most;
  return {
      {"cpus", most.cpus.value}, {"memory_bytes", most.memory.value}, {"disk_bytes", disk_of(config.server_folder)}};
}

// What the server adds to what was found out about a runtime, with fewer rights than sandboxes are made with.
void complete_runtime(Json& runtime, engine::Engine& engine) {
  std::string name = runtime.value("name", "");
  if (Result<RuntimeFact> fact = engine.examine(name)) {
    runtime["available"] = fact->available;
    runtime["version"] = fact->version;
    runtime["program"] = fact->program;
    runtime["problem"] = fact->problem;
    runtime["remedy"] = fact->remedy;
  }
  Capabilities can = engine.capabilities(name);
  runtime["default"] = name == engine.config().runtime;
  runtime["capabilities"] = {{"pause", can.pause},         {"update_limits", can.update_limits},
                             {"recovery", can.adopt},      {"dial", can.dial},
                             {"nesting", can.nesting},     {"pty", can.pty},
                             {"review", can.review_layer}, {"warm_start", can.waiting_scripts}};
}

Outcome get_machine(Call& call) {
  if (!call.api.diagnosis) return refuse(503, "unavailable", "the machine was not examined");
  Json document = Json::parse(COVE_TRY(call.api.diagnosis())).value_or(Json());
  if (!document.is_object()) return refuse(503, "unavailable", "the examination of the machine came to nothing");
  document["capacity"] = capacity_json(call.engine().config());
  for (Json& runtime : document["runtimes"]) complete_runtime(runtime, call.engine());
  return call.respond(200, dump(document));
}

Outcome get_config(Call& call) {
  std::vector<PageItem> list;
  for (const Setting& setting : settings(call.engine().config())) {
    Json json = {{"name", setting.name},
                 {"value", setting.value},
                 {"source", setting.source},
                 {"default", setting.default_value},
                 {"description", setting.description}};
    list.push_back({setting.name, dump(json)});
  }
  return respond_page(call, list);
}

}  // namespace

void add_machine(Routes& routes) {
  routes.add("GET", "/v1/machine", kRead, get_machine);
  routes.add("GET", "/v1/config", kAdmin, get_config, {"after", "limit"});
}

}  // namespace cove::api
