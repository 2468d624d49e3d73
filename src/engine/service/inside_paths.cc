#include "engine/service/inside_paths.h"

#include "base/text.h"

namespace cove::engine {

std::string tidy_path(std::string_view path) {
  std::string out;
  for (const std::string& part : split(path, '/'))
    if (!part.empty() && part != ".") out += concat(out.empty() && !path.starts_with('/') ? "" : "/", part);
  if (!out.empty()) return out;
  return path.starts_with('/') ? "/" : ".";
}

std::string absolute_path(View& view, const std::string& path) {
  if (path.starts_with('/')) return tidy_path(path);
  Result<std::string> here = view.readlink("/proc/self/cwd");
  return tidy_path(concat(here ? *here : "/", "/", path));
}

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace cove::engine
