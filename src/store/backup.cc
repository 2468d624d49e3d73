#include "store/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/crash_point.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr size_t kKept = 2;
constexpr std::string_view kSuffix = ".backup-v";

// The versions of which there are copies, the newest first.
Result<std::vector<int64_t>> copies_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string begin = concat(path.substr(slash + 1), kSuffix);
  std::vector<int64_t> versions;
  for (const std::string& name : COVE_TRY(sys::list_folder(path.substr(0, slash)))) {
    if (!name.starts_with(begin)) continue;
    if (Result<int64_t> version = parse_integer(name.substr(begin.size()), 1, INT64_MAX)) versions.push_back(*version);
  }
  std::ranges::sort(versions, std::greater());
  return versions;
}

Result<void> sync(const std::string& path) {
  UniqueFd file = COVE_TRY(sys::open(path, O_RDONLY));
  if (::fsync(file.get()) < 0) return fail_errno(concat("fsync ", path));
  return {};
}

Result<void> copy(Database& database, const std::string& to) {
  const std::string unfinished = to + ".new";
  // Of one that was killed on the way; SQLite would take up its journal.
  for (const char* left : {"", "-journal", "-wal", "-shm"}) ::unlink((unfinished + left).c_str());
  // It holds hashes of keys.
  COVE_TRY(sys::open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  Result<void> copied = database.copy_to(unfinished);
  if (copied) copied = sync(unfinished);
  if (!copied) {
    ::unlink(unfinished.c_str());
    return copied;
  }
  crash_point("backup.copied");
  if (::rename(unfinished.c_str(), to.c_str()) < 0) return fail_errno(concat("rename ", unfinished));
  return sync(to.substr(0, to.rfind('/')));
}

}  // namespace

Result<void> back_up_before_migration(Database& database, const std::string& path, std::span<const Migration> list) {
  const int64_t version = COVE_TRY(version_of(database));
  if (version <= 0 || version >= static_cast<int64_t>(list.size())) return {};
  Result<void> copied = copy(database, concat(path, kSuffix, version));
  if (!copied) return fail(std::move(copied.error()).note("back up the database before it is changed"));
  std::vector<int64_t> versions = COVE_TRY(copies_of(path));
  for (size_t old = kKept; old < versions.size(); ++old) ::unlink(concat(path, kSuffix, versions[old]).c_str());
  return {};
}

}  // namespace cove
