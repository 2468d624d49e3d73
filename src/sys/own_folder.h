#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

// Cove's folders for one user, to which no other user may write.
namespace cove::sys {

// The possible locations of one kind of folder.
struct FolderKind {
  const char* name;        // "cache": for messages
  const char* variable;    // "COVE_CACHE": overrides the location
  const char* of_root;     // "/var/cache/cove"
  const char* xdg;         // "XDG_CACHE_HOME"
  const char* below_home;  // ".cache"
};
inline constexpr FolderKind kCacheFolder = {"cache", "COVE_CACHE", "/var/cache/cove", "XDG_CACHE_HOME", ".cache"};
inline constexpr FolderKind kStateFolder = {"state", "COVE_STATE", "/var/lib/cove", "XDG_STATE_HOME", ".local/state"};

// $COVE_CACHE or $COVE_STATE, otherwise root's, otherwise below $XDG_…_HOME or the home. It need not exist.
Result<std::string> find_folder(const FolderKind& kind);

// The folder of a user's sockets and locks: /run/cove for root, otherwise below $XDG_RUNTIME_DIR, otherwise
// /tmp/cove-UID. `runtime` is the value of that variable; a relative path is ignored. Any user can create a folder in
// /tmp, so nothing in it may be used before one of the two functions below has checked it.
std::string run_folder_of(uid_t uid, const std::string& runtime);
// For this process.
std::string run_folder();
// Denied if it exists and fails the check of stat_own_folder.
Result<void> check_run_folder(const std::string& path);
// Creates it if it is missing, then checks it.
Result<void> make_run_folder(const std::string& path);

// Denied unless it is a folder (and no link) of this user that neither its group nor others can write to.
Result<struct stat> stat_own_folder(const std::string& path, const FolderKind& kind);

}  // namespace cove::sys
