#include "cli/session.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace cove::cli {
namespace {

constexpr size_t kIdSize = 20;

bool looks_like_id(const std::string& word) {
  return word.size() == kIdSize && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

}  // namespace

Result<Api> open_server(const CommonOrder& order, client::WhenAbsent when_absent) {
  client::ServerChoice choice = COVE_TRY(client::find_server());
  if (!order.project.empty()) choice.identity.project = order.project;
  return Api(COVE_TRY(client::reach_server(choice, when_absent)));
}

Result<Api> connect_server(client::WhenAbsent when_absent) {
  return Api(COVE_TRY(client::connect_server(COVE_TRY(client::find_server()), when_absent)));
}

bool print_json(const Json& json) {
  return print((::isatty(STDOUT_FILENO) == 1 ? client::dump_indented(json) : client::dump(json)) + "\n");
}

ListForm list_form(bool quiet, bool json) {
  return quiet ? ListForm::Ids : json ? ListForm::Documents : ListForm::Table;
}

int print_list(const std::vector<Json>& items, ListForm form, std::string (*table_of)(const std::vector<Json>& items)) {
  std::string ids;
  for (const Json& item : items) ids += client::text_of(item, "id") + "\n";
  bool printed = form == ListForm::Ids         ? print(ids)
                 : form == ListForm::Documents ? print_json(items)
                                               : print(table_of(items));
  return printed ? 0 : kOwnFailure;
}

int for_each_name(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& act) {
  auto api = open_server(order);
  if (!api) return complain(api.error());
  int exit_code = 0;
  for (const std::string& name : names) {
    Result<Json> done = act(*api, name);
    if (!done) {
      exit_code = complain(done.error());
      continue;
    }
    bool printed = order.json && !done->is_null() ? print_json(*done) : print(name + "\n");
    if (!printed) return kOwnFailure;
  }
  return exit_code;
}

int inspect_each(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& find) {
  auto api = open_server(order);
  if (!api) return complain(api.error());
  Json all = Json::array();
  for (const std::string& name : names) {
    Result<Json> found = find(*api, name);
    if (!found) return complain(found.error());
    all.push_back(std::move(*found));
  }
  return print_json(all.size() == 1 ? all[0] : all) ? 0 : kOwnFailure;
}

Result<Json> find_exec(Api& api, const std::string& sandbox, const std::string& word) {
  if (looks_like_id(word)) return api.find_exec(sandbox, word);
  std::vector<Json> execs = COVE_TRY(api.execs(sandbox, {.tag = word}));
  if (execs.empty())
    return fail(Error(Code::NotFound, word.empty() ? concat("sandbox ", sandbox, " has no execs")
                                                   : concat("sandbox ", sandbox, " has no exec '", word, "'"))
                    .hint(concat("cove ps -a ", sandbox, " lists them")));
  return newest_of(execs);
}

Json newest_of(const std::vector<Json>& execs) {
  return *std::max_element(execs.begin(), execs.end(), [](const Json& a, const Json& b) {
    return client::text_of(a, "started_at") < client::text_of(b, "started_at");
  });
}

}  // namespace cove::cli
