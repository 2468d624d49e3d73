#include "base/text.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::count_of;
using client::field;
using client::text_of;

struct QuotaOrder : CommonOrder {
  Json quotas = Json::object();
};

Result<void> set_count(QuotaOrder& order, const std::string& text) {
  order.quotas["sandboxes"] = COVE_TRY(parse_integer(text, 0, 1'000'000'000));
  return {};
}

template <const char* kName>
Result<void> set_size(QuotaOrder& order, const std::string& text) {
  order.quotas[kName] = text == "0" ? 0 : COVE_TRY(parse_bytes(text));
  return {};
}
constexpr char kMemory[] = "memory";
constexpr char kDisk[] = "disk";

constexpr Option<QuotaOrder> kQuotaOptions[] = {
    {{"sandboxes", '\0', "NUMBER", "most sandboxes at a time; 0: the server's setting", "Quotas"}, set_count},
    {{"memory", 'm', "SIZE", "total memory of its running sandboxes; 0: the server's\nsetting", "Quotas"},
     set_size<kMemory>},
    {{"disk", '\0', "SIZE", "total disk of its sandboxes; 0: the server's setting", "Quotas"}, set_size<kDisk>},
    kJsonOption<QuotaOrder>,
    kHelpOption<QuotaOrder>,
};
constexpr Option<CommonOrder> kOptions[] = {kJsonOption<CommonOrder>, kHelpOption<CommonOrder>};

constexpr Form kLsForm = {
    .verb = "project ls",
    .usage = "[OPTIONS]",
    .text = "Lists projects with their usage and quotas.",
};
constexpr Form kCreateForm = {
    .verb = "project create",
    .usage = "[OPTIONS] NAME",
    .text =
        "Creates a project. Commands work in it with --project NAME or COVE_PROJECT=NAME; a key belongs to one "
        "project.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove project create web --sandboxes 20 -m 16g\n"
        "  cove key create --project web ci",
};
constexpr Form kInspectForm = {
    .verb = "project inspect",
    .usage = "[OPTIONS] NAME…",
    .text = "Prints the quotas and usage of a project as JSON; of several projects, as a list.",
    .least = 1,
    .most = kMany,
};
constexpr Form kQuotaForm = {
    .verb = "project quota",
    .usage = "[OPTIONS] NAME",
    .text =
        "Changes the quotas of a project, or shows them if no option is given. Sandboxes over a new quota keep "
        "running.",
    .least = 1,
    .most = 1,
};
constexpr Form kRmForm = {
    .verb = "project rm",
    .usage = "[OPTIONS] NAME…",
    .text = "Removes projects that have no sandboxes, and their keys.",
    .least = 1,
    .most = kMany,
};

// "3 of 20", or "3" if there is no quota.
std::string share(const std::string& used, uint64_t quota, const std::string& quota_text) {
  return quota == 0 ? used : concat(used, " of ", quota_text);
}

std::string size_share(const Json& project, const std::string& name) {
  const uint64_t quota = count_of(field(project, "quotas"), name);
  return share(format_bytes(count_of(field(project, "usage"), name)), quota, format_bytes(quota));
}

std::string table_of(const std::vector<Json>& projects) {
  Table table({"PROJECT", "SANDBOXES", "MEMORY", "DISK"});
  for (const Json& project : projects) {
    const uint64_t quota = count_of(field(project, "quotas"), "sandboxes");
    table.add({printable(text_of(project, "id")),
               share(std::to_string(count_of(field(project, "usage"), "sandboxes")), quota, std::to_string(quota)),
               size_share(project, "memory_bytes"), size_share(project, "disk_bytes")});
  }
  return table.text();
}

int print_projects(const std::vector<Json>& projects, ListForm form) { return print_list(projects, form, table_of); }

int ls(const Arguments& args) {
  auto words = read_words<CommonOrder>(kLsForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto projects = api->projects();
  if (!projects) return complain(projects.error());
  return print_projects(*projects, list_form(false, words->order.json));
}

int finish(const QuotaOrder& order, const Result<Json>& project) {
  if (!project) return complain(project.error());
  return print_projects({*project}, list_form(false, order.json));
}

int create(const Arguments& args) {
  auto words = read_words<QuotaOrder>(kCreateForm, kQuotaOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  Json body = {{"id", words->operands[0]}};
  if (!words->order.quotas.empty()) body["quotas"] = words->order.quotas;
  return finish(words->order, api->create_project(body));
}

int quota(const Arguments& args) {
  auto words = read_words<QuotaOrder>(kQuotaForm, kQuotaOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  const Json& quotas = words->order.quotas;
  if (quotas.empty()) return finish(words->order, api->project(words->operands[0]));
  return finish(words->order, api->update_project(words->operands[0], {{"quotas", quotas}}));
}

int inspect(const Arguments& args) {
  auto words = read_words<CommonOrder>(kInspectForm, kOptions, args);
  if (!words) return words.error();
  return inspect_each(words->order, words->operands,
                      [](Api& api, const std::string& name) { return api.project(name); });
}

int rm(const Arguments& args) {
  auto words = read_words<CommonOrder>(kRmForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands, [](Api& api, const std::string& project) -> Result<Json> {
    COVE_TRY(api.remove_project(project));
    return Json();
  });
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {
      {"ls", "list projects", ls, [] { return form_help(kLsForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
      {"create", "create a project", create, [] { return form_help(kCreateForm, option_infos(kQuotaOptions)); },
       [] { return option_infos(kQuotaOptions); }},
      {"inspect", "show a project", inspect, [] { return form_help(kInspectForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
      {"quota", "show or change the quotas of a project", quota,
       [] { return form_help(kQuotaForm, option_infos(kQuotaOptions)); }, [] { return option_infos(kQuotaOptions); }},
      {"rm", "remove projects", rm, [] { return form_help(kRmForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
  };
  return kParts;
}

std::string project_help() {
  return parts_help(
      project_verb(),
      "Manages projects, which separate the sandboxes, sessions and keys of different teams and limit what each may\n"
      "use. They can be changed only over the Unix socket, not with a key.");
}

}  // namespace

Verb project_verb() {
  return {"project",
          "create, list, limit and remove projects",
          [](const Arguments& args) { return act_on_part(project_verb(), args); },
          project_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
