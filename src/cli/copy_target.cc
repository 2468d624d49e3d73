#include "cli/copy_target.h"

#include "base/text.h"
#include "cli/sandbox_path.h"

namespace cove::cli {
namespace {

bool means_content(const std::string& source) { return source.ends_with("/.") || source == "."; }

// The name of "/" or ".." in the target.
std::string name_of(const std::string& source) {
  std::string name = base_name(source);
  return name.empty() ? "root" : name;
}

Result<CopyTarget> folder_target(const std::string& source, Kind target_kind, const std::string& target) {
  if (target_kind == Kind::File)
    return fail(Code::Invalid, concat("a folder cannot be copied to ", target, ", which is a file"));
  if (target_kind == Kind::Nothing || means_content(source)) return CopyTarget{target, ""};
  return CopyTarget{target, name_of(source)};
}

}  // namespace

std::string CopyTarget::path() const { return name.empty() ? folder : below(folder, name); }

Result<CopyTarget> find_copy_target(Kind source_kind, const std::string& source, Kind target_kind,
                                    const std::string& target) {
  if (source_kind == Kind::Nothing) return fail(Code::NotFound, concat("no such file: ", source));
  if (source_kind == Kind::Folder) return folder_target(source, target_kind, target);
  if (target_kind == Kind::Folder) return CopyTarget{target, name_of(source)};
  if (target.ends_with('/')) return fail(Code::NotFound, concat("no such folder: ", target));
  return CopyTarget{folder_of(target), base_name(target)};
}

}  // namespace cove::cli
