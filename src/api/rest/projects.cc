// Projects: their quotas, and what their networks may reach.
#include "api/rest/auth.h"
#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/values.h"
#include "base/text.h"

namespace cove::api {
namespace {

// What a project has of its own; the rest is the configuration's.
Json own_quotas(const ProjectRecord& project) {
  Json quotas = Json::parse(project.quotas).value_or(Json());
  return quotas.is_object() ? quotas : Json::object();
}

Json quotas_json(const ProjectRecord& project, const Config::Quotas& usual) {
  const Json own = own_quotas(project);
  return {{"sandboxes", own.value("sandboxes", usual.sandboxes)},
          {"memory_bytes", own.value("memory", usual.memory)},
          {"disk_bytes", own.value("disk", usual.disk)}};
}

Json bound_json(const engine::NetworkBound& bound) {
  return json_object({{"network", network_json(bound.policy)}, {"network_version", bound.version}});
}

// What its own sandboxes may reach at most, and those of its agents.
Checked<Json> networks_json(Call& call, const std::string& project) {
  Json agents = Json::object();
  Json json = bound_json({project, "", engine::no_bound(), 0});
  for (const engine::NetworkBound& bound : COVE_TRY(call.engine().networks().bounds(project))) {
    if (bound.agent.empty())
      json = bound_json(bound);
    else
      agents[bound.agent] = bound_json(bound);
  }
  json["agents"] = std::move(agents);
  return json;
}

Checked<Json> project_json(Call& call, const ProjectRecord& project) {
  engine::Numbers used = COVE_TRY(call.engine().usage(project.id));
  Json json{{"id", project.id},
            {"quotas", quotas_json(project, call.engine().config().quotas)},
            {"usage",
             {{"sandboxes", used.sandboxes},
              {"memory_bytes", used.memory},
              {"disk_bytes", used.disk},
              {"logs_bytes", used.logs}}}};
  json.update(COVE_TRY(networks_json(call, project.id)));
  return json;
}

// What a request says of networks: the project's, and those of agents.
struct NetworkWishes {
  std::optional<NetworkChange> own;
  std::map<std::string, NetworkChange> agents;
};

Result<NetworkWishes> take_networks(Fields& fields) {
  NetworkWishes wishes;
  wishes.own = COVE_TRY(take_network_change(fields));
  auto agents = COVE_TRY(fields.object("agents"));
  if (!agents) return wishes;
  for (const auto& [name, value] : fields.raw("agents")->items()) {
    COVE_TRY(agents->checked(name, check_agent(name)));
    auto agent = COVE_TRY(agents->object(name));
    if (!agent) return fail(agents->wrong(name, "must be an object"));
    wishes.agents[name] = COVE_TRY(take_network_change(*agent)).value_or(NetworkChange());
    COVE_TRY(agent->finish());
  }
  return wishes;
}

Result<void> set_networks(Call& call, const std::string& project, const NetworkWishes& wishes) {
  engine::Networks& networks = call.engine().networks();
  if (wishes.own) COVE_TRY(networks.set_bound(call.caller, project, "", *wishes.own));
  for (const auto& [agent, change] : wishes.agents) COVE_TRY(networks.set_bound(call.caller, project, agent, change));
  return {};
}

Result<void> take_quotas(Fields& fields, Json& quotas) {
  auto nested = COVE_TRY(fields.object("quotas"));
  if (!nested) return {};
  if (auto sandboxes = COVE_TRY(nested->integer("sandboxes", 0, INT64_MAX)))
    quotas["sandboxes"] = static_cast<uint64_t>(*sandboxes);
  if (auto memory = COVE_TRY(nested->size("memory"))) quotas["memory"] = *memory;
  if (auto disk = COVE_TRY(nested->size("disk"))) quotas["disk"] = *disk;
  return nested->finish();
}

EventDraft event_of(const Call& call, const std::string& kind, const ProjectRecord& project) {
  return {.kind = kind,
          .project = project.id,
          .actor = call.caller.actor,
          .data = concat("{\"quotas\":", project.quotas, "}")};
}

Outcome list_projects(Call& call) {
  std::vector<PageItem> projects;
  for (const ProjectRecord& project : COVE_TRY(call.engine().store().list_projects()))
    if (call.caller.local || project.id == call.caller.project)
      projects.push_back({project.id, dump(COVE_TRY(project_json(call, project)))});
  return respond_page(call, projects);
}

Outcome create_project(Call& call) {
  COVE_TRY(require_local(call));
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  ProjectRecord project;
  project.id = COVE_TRY(fields.checked("id", check_project(COVE_TRY(required(fields, "id", fields.text("id"))))));
  Json quotas = Json::object();
  COVE_TRY(take_quotas(fields, quotas));
  const NetworkWishes networks = COVE_TRY(take_networks(fields));
  COVE_TRY(fields.finish());
  project.quotas = dump(quotas);
  project.created_ms = now_ms();
  EventDraft event = event_of(call, "project.created", project);
  COVE_TRY(call.engine().store().insert_project(project, {&event, 1}));
  COVE_TRY(set_networks(call, project.id, networks));
  Json document = COVE_TRY(project_json(call, project));
  return call.respond(201, dump(document), {{"Location", concat("/v1/projects/", project.id)}});
}

Checked<ProjectRecord> find(Call& call) {
  const std::string& id = call.captured("project");
  if (!call.caller.local && id != call.caller.project)
    return refuse(404, "not_found", concat("there is no project '", id, "'"));
  return COVE_TRY(call.engine().store().find_project(id));
}

Outcome get_project(Call& call) {
  ProjectRecord project = COVE_TRY(find(call));
  return call.respond(200, dump(COVE_TRY(project_json(call, project))));
}

Outcome update_project(Call& call) {
  COVE_TRY(require_local(call));
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::lock_guard turn(call.api.updates);
  ProjectRecord project = COVE_TRY(find(call));
  Json quotas = own_quotas(project);
  COVE_TRY(take_quotas(fields, quotas));
  const NetworkWishes networks = COVE_TRY(take_networks(fields));
  COVE_TRY(fields.finish());
  project.quotas = dump(quotas);
  EventDraft event = event_of(call, "project.updated", project);
  COVE_TRY(call.engine().store().update_project(project, {&event, 1}));
  COVE_TRY(set_networks(call, project.id, networks));
  return call.respond(200, dump(COVE_TRY(project_json(call, project))));
}

Outcome delete_project(Call& call) {
  COVE_TRY(require_local(call));
  ProjectRecord project = COVE_TRY(find(call));
  if (project.id == kDefaultProject) return refuse(409, "conflict", "the default project is always there");
  // The event is the default project's: nobody could read it in one that is gone.
  EventDraft event = event_of(call, "project.deleted", project);
  event.project = kDefaultProject;
  event.data = dump(Json{{"id", project.id}});
  COVE_TRY(call.engine().store().remove_project(project.id, {&event, 1}));
  return call.no_content();
}

}  // namespace

void add_projects(Routes& routes) {
  routes.add("GET", "/v1/projects", kAdmin, list_projects, {"after", "limit"});
  routes.add("POST", "/v1/projects", kAdmin, create_project, {}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/projects/{project}", kAdmin, get_project);
  routes.add("PATCH", "/v1/projects/{project}", kAdmin, update_project);
  routes.add("DELETE", "/v1/projects/{project}", kAdmin, delete_project);
}

}  // namespace cove::api
