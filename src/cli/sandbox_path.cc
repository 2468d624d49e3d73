#include "cli/sandbox_path.h"

#include "base/text.h"
#include "cli/run_values.h"

namespace cove::cli {
namespace {

void drop_slashes(std::string& path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
}

}  // namespace

PathWord parse_path_word(const std::string& text) {
  size_t colon = text.find(':');
  if (colon == std::string::npos || !parse_name(text.substr(0, colon))) return {"", text};
  std::string path = text.substr(colon + 1);
  return {text.substr(0, colon), path.empty() ? "." : path};
}

Result<PathWord> parse_sandbox_path(const std::string& text) {
  PathWord word = parse_path_word(text);
  if (!word.sandbox.empty()) return word;
  return fail(Error(Code::Invalid, concat("'", text, "' names no sandbox")).hint("write it as SANDBOX:PATH"));
}

std::string base_name(std::string path) {
  drop_slashes(path);
  std::string name = path.substr(path.rfind('/') + 1);
  return name == "." || name == ".." ? "" : name;
}

std::string folder_of(std::string path) {
  drop_slashes(path);
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string below(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : concat(folder, "/", name);
}

}  // namespace cove::cli
