// The languages that code can be in, and what of them is there.
#include "run/languages.h"

#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/response_json.h"
#include "base/text.h"

namespace cove::api {
namespace {

Json state_json(const LanguageState& state) {
  const bool to_pull = state.kind == LanguageState::Kind::ToPull;
  return {{"version", text_or_null(state.version)},
          {"state", kind_name(state.kind)},
          {"default", state.usual},
          {"image", state.image},
          {"path", text_or_null(state.path)},
          {"compile", state.command.compile},
          {"command", state.command.run},
          {"pull", text_or_null(to_pull ? concat("cove pull ", state.image) : "")}};
}

Json language_json(const Language& language, const std::vector<LanguageState>& states) {
  Json versions = Json::array();
  for (const LanguageState& state : states) versions.push_back(state_json(state));
  return {{"name", language.name},
          {"aliases", language.aliases},
          {"extension", language.extension},
          {"default", text_or_null(language.default_version)},
          {"versions", std::move(versions)}};
}

Outcome get_languages(Call& call) {
  Languages& languages = call.engine().languages();
  std::vector<std::vector<LanguageState>> states = languages.list();
  std::vector<PageItem> list;
  for (size_t i = 0; i < states.size(); ++i) {
    const Language& language = languages.table()[i];
    list.push_back({language.name, dump(language_json(language, states[i]))});
  }
  return respond_page(call, list);
}

}  // namespace

void add_languages(Routes& routes) { routes.add("GET", "/v1/languages", kRead, get_languages, {"after", "limit"}); }

}  // namespace cove::api
