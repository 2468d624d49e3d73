#include "runtime/native/linked_worktree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "sys/beneath.h"
#include "sys/file.h"

namespace cove::native {
namespace {

constexpr size_t kLongest = 4096;

// The first line of a small regular file; "" if it is not one.
std::string read_line(int folder, const char* name) {
  std::string text = sys::read_beneath(folder, name, kLongest).value_or("");
  return text.substr(0, text.find('\n'));
}

bool is_same(int one, int other) {
  Result<struct stat> a = sys::fstat(one), b = sys::fstat(other);
  return a && b && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Git writes absolute paths, or paths relative to the folder of the file (worktree.useRelativePaths).
Result<UniqueFd> open_named(int folder, const std::string& path) {
  return sys::openat(folder, path, O_PATH | O_DIRECTORY);
}

// "NAME" of a path that ends with worktrees/NAME.
std::string name_in_worktrees(int administration) {
  std::string path = sys::readlink(sys::fd_path(administration)).value_or("");
  std::vector<std::string> parts = split(path, '/');
  if (parts.size() < 3 || parts[parts.size() - 2] != "worktrees") return "";
  return parts.back();
}

// Whether `inner` is `outer` or is below it; also true if that cannot be determined.
bool may_lie_in(int inner, int outer) {
  Result<UniqueFd> here = sys::dup(inner);
  while (here) {
    if (is_same(here->get(), outer)) return true;
    Result<UniqueFd> above = sys::openat(here->get(), "..", O_PATH | O_DIRECTORY);
    if (above && is_same(above->get(), here->get())) return false;
    here = std::move(above);
  }
  return true;
}

bool have_one_owner(int one, int two, int three) {
  Result<struct stat> a = sys::fstat(one), b = sys::fstat(two), c = sys::fstat(three);
  return a && b && c && a->st_uid == b->st_uid && b->st_uid == c->st_uid;
}

bool is_repository(int folder) {
  return sys::find_beneath(folder, "HEAD") && sys::open_folder_beneath(folder, "objects") &&
         sys::open_folder_beneath(folder, "refs");
}

}  // namespace

std::optional<LinkedWorktree> find_linked_worktree(int folder) {
  constexpr std::string_view kPointer = "gitdir: ", kEnd = "/.git";
  std::string pointer = read_line(folder, ".git");
  if (!pointer.starts_with(kPointer)) return std::nullopt;
  Result<UniqueFd> administration = open_named(folder, pointer.substr(kPointer.size()));
  if (!administration || may_lie_in(administration->get(), folder)) return std::nullopt;
  std::string back = read_line(administration->get(), "gitdir");
  if (!back.ends_with(kEnd)) return std::nullopt;
  Result<UniqueFd> named = open_named(administration->get(), back.substr(0, back.size() - kEnd.size()));
  if (!named || !is_same(named->get(), folder)) return std::nullopt;
  if (read_line(administration->get(), "commondir") != "../..") return std::nullopt;
  Result<UniqueFd> repository = sys::openat(administration->get(), "../..", O_PATH | O_DIRECTORY);
  std::string name = name_in_worktrees(administration->get());
  if (!repository || name.empty() || !is_repository(repository->get())) return std::nullopt;
  if (!have_one_owner(folder, administration->get(), repository->get())) return std::nullopt;
  return LinkedWorktree{std::move(*repository), std::move(name)};
}

}  // namespace cove::native
