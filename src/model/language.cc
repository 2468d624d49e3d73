#include "model/language.h"

#include "base/text.h"

namespace cove {

const std::vector<Language>& languages() {
  static const std::vector<Language> kLanguages = {
      {kPython, {"python3"}, ".py"},
      {"javascript", {"node"}, ".js"},
      {"bash", {"bash"}, ".sh"},
  };
  return kLanguages;
}

Result<Language> find_language(const std::string& name) {
  std::vector<std::string> names;
  for (const Language& language : languages()) {
    if (language.name == name) return language;
    names.push_back(language.name);
  }
  std::string near = closest(name, names);
  return fail(
      Error(Code::NotFound, concat("unknown language '", name, "'"))
          .hint(near.empty() ? concat("the languages are: ", join(names, ", ")) : concat("did you mean ", near, "?")));
}

}  // namespace cove
