#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cove {

// A language that snippets of code can be written in, and what runs them.
struct Language {
  std::string name;
  std::vector<std::string> interpreter;  // the file's name follows
  std::string extension;                 // ".py"
};

const std::vector<Language>& languages();
inline constexpr const char* kPython = "python";

// NotFound, with the closest one as a hint.
Result<Language> find_language(const std::string& name);

}  // namespace cove
