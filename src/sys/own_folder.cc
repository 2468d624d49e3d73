#include "sys/own_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

// The line of /etc/passwd, read directly: a static program has no name services.
std::string home_of(uid_t uid) {
  auto passwd = read_file("/etc/passwd", 1 << 20);
  if (!passwd) return "";
  for (const std::string& line : split(*passwd, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 5 && fields[2] == std::to_string(uid)) return fields[5];
  }
  return "";
}

std::string absolute_env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string_view view(const char* text) { return text; }

constexpr FolderKind kRunFolder = {"run folder", "XDG_RUNTIME_DIR", "/run/cove", "", ""};

}  // namespace

Result<std::string> find_folder(const FolderKind& kind) {
  const char* chosen = std::getenv(kind.variable);
  if (chosen != nullptr && chosen[0] != '\0') {
    if (chosen[0] == '/') return chosen;
    return fail(Code::Invalid, concat(view(kind.variable), "='", view(chosen), "' is not an absolute path"));
  }
  if (::geteuid() == 0) return kind.of_root;
  if (std::string base = absolute_env(kind.xdg); !base.empty()) return base + "/cove";
  std::string home = absolute_env("HOME");
  if (home.empty()) home = home_of(::geteuid());
  if (!home.empty()) return concat(home, "/", view(kind.below_home), "/cove");
  return fail(Error(Code::NotFound, concat("this user has no home for a ", view(kind.name), " folder"))
                  .hint(concat("set ", view(kind.variable), " to a folder")));
}

Result<struct stat> stat_own_folder(const std::string& path, const FolderKind& kind) {
  struct stat info = COVE_TRY(lstat(path));
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return info;
  return fail(Error(Code::Denied, concat("the ", view(kind.name), " ", path, " is not a folder that is owned by user ",
                                         ::geteuid(), " and writable only by this user"))
                  .hint(concat("remove it, or set ", view(kind.variable), " to another folder")));
}

std::string run_folder_of(uid_t uid, const std::string& runtime) {
  if (uid == 0) return kRunFolder.of_root;
  return runtime.starts_with('/') ? runtime + "/cove" : concat("/tmp/cove-", uid);
}

std::string run_folder() { return run_folder_of(::geteuid(), absolute_env(kRunFolder.variable)); }

Result<void> check_run_folder(const std::string& path) {
  Result<struct stat> found = stat_own_folder(path, kRunFolder);
  if (!found && found.error().code() != Code::NotFound) return fail(std::move(found).error());
  return {};
}

Result<void> make_run_folder(const std::string& path) {
  // Every user may look up the path of root's server; access is decided when a client connects.
  COVE_TRY(make_folders(path, ::geteuid() == 0 ? 0755 : 0700));
  COVE_TRY(stat_own_folder(path, kRunFolder));
  return {};
}

}  // namespace cove::sys
