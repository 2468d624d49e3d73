#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "inspect",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Prints all there is to know about a sandbox, as JSON; about several, as a list.",
    .least = 1,
    .most = kMany,
};

Result<Json> look(const CommonOrder& order, const std::vector<std::string>& sandboxes) {
  Api api = COVE_TRY(open_server(order));
  Json all = Json::array();
  for (const std::string& sandbox : sandboxes) all.push_back(COVE_TRY(api.sandbox(sandbox)));
  return all.size() == 1 ? all[0] : all;
}

int inspect(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> found = look(words->order, words->operands);
  if (!found) return complain(found.error());
  return print_json(*found) ? 0 : kOwnFailure;
}

}  // namespace

Verb inspect_verb() {
  return {"inspect",
          "show all about a sandbox",
          inspect,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
