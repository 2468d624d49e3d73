#include "sys/beneath.h"

#include <linux/openat2.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

Result<UniqueFd> open_beneath(int folder, const std::string& path, int flags, mode_t mode = 0) {
  return openat2(folder, path, flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, kBeneath, mode);
}

// Splits a path into the parent folder and the last name.
struct Place {
  UniqueFd parent;
  std::string name;
};
Result<Place> find_place(int folder, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == path.npos ? "." : path.substr(0, slash);
  return Place{COVE_TRY(open_folder_beneath(folder, above)), path.substr(slash == path.npos ? 0 : slash + 1)};
}

}  // namespace

Result<UniqueFd> find_beneath(int folder, const std::string& path) {
  return openat2(folder, path, O_PATH | O_NOFOLLOW, kBeneath);
}

Result<struct stat> stat_beneath(int folder, const std::string& path) {
  return fstat(COVE_TRY(find_beneath(folder, path)).get());
}

Result<UniqueFd> open_folder_beneath(int folder, const std::string& path, int flags) {
  if (flags & O_PATH) return openat2(folder, path, O_PATH | O_DIRECTORY, kBeneath);
  return open_beneath(folder, path, flags | O_DIRECTORY);
}

Result<UniqueFd> open_file_beneath(int folder, const std::string& path, int flags) {
  UniqueFd file = COVE_TRY(open_beneath(folder, path, flags));
  struct stat info = COVE_TRY(fstat(file.get()));
  if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, concat(path, " is not a regular file"));
  return file;
}

Result<std::string> read_beneath(int folder, const std::string& path, size_t most) {
  UniqueFd file = COVE_TRY(open_file_beneath(folder, path, O_RDONLY));
  return COVE_TRY_NOTE(concat("read ", path), read_all(file.get(), most));
}

Result<void> make_folder_beneath(int folder, const std::string& path, mode_t mode) {
  Place place = COVE_TRY(find_place(folder, path));
  return mkdirat(place.parent.get(), place.name, mode);
}

Result<void> make_file_beneath(int folder, const std::string& path, std::string_view data, mode_t mode) {
  UniqueFd file = COVE_TRY(open_beneath(folder, path, O_WRONLY | O_CREAT | O_EXCL, mode));
  COVE_TRY_NOTE(concat("write ", path), write_all(file.get(), data));
  return {};
}

Result<void> remove_beneath(int folder, const std::string& path) {
  Place place = COVE_TRY(find_place(folder, path));
  struct stat info = COVE_TRY(stat_beneath(place.parent.get(), place.name));
  if (::unlinkat(place.parent.get(), place.name.c_str(), S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0) < 0)
    return fail_errno(concat("remove ", path));
  return {};
}

}  // namespace cove::sys
