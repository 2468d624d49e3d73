#include "cli/landing.h"

#include "base/text.h"
#include "cli/sandbox_path.h"

namespace cove::cli {
namespace {

bool means_content(const std::string& source) { return source.ends_with("/.") || source == "."; }

// A name for what is called "/" or "..".
std::string name_of(const std::string& source) {
  std::string name = base_name(source);
  return name.empty() ? "root" : name;
}

Result<Landing> land_folder(const std::string& source, Kind target_kind, const std::string& target) {
  if (target_kind == Kind::File)
    return fail(Code::Invalid, concat("a folder cannot be copied to ", target, ", which is a file"));
  if (target_kind == Kind::Nothing || means_content(source)) return Landing{target, ""};
  return Landing{target, name_of(source)};
}

}  // namespace

std::string Landing::path() const { return name.empty() ? folder : below(folder, name); }

Result<Landing> find_landing(Kind source_kind, const std::string& source, Kind target_kind, const std::string& target) {
  if (source_kind == Kind::Nothing) return fail(Code::NotFound, concat("there is no ", source));
  if (source_kind == Kind::Folder) return land_folder(source, target_kind, target);
  if (target_kind == Kind::Folder) return Landing{target, name_of(source)};
  if (target.ends_with('/')) return fail(Code::NotFound, concat("there is no folder ", target));
  return Landing{folder_of(target), base_name(target)};
}

}  // namespace cove::cli
