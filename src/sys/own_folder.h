#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

// Folders in which Cove keeps things of one user, and which nobody else may write to.
namespace cove::sys {

// Where things of a kind are kept.
struct FolderKind {
  const char* name;        // "cache": for messages
  const char* variable;    // "COVE_CACHE": names another one
  const char* of_root;     // "/var/cache/cove"
  const char* xdg;         // "XDG_CACHE_HOME"
  const char* below_home;  // ".cache"
};
inline constexpr FolderKind kCacheFolder = {"cache", "COVE_CACHE", "/var/cache/cove", "XDG_CACHE_HOME", ".cache"};
inline constexpr FolderKind kStateFolder = {"state", "COVE_STATE", "/var/lib/cove", "XDG_STATE_HOME", ".local/state"};

// $COVE_CACHE or $COVE_STATE, else root's, else below $XDG_…_HOME or the home. It need not exist.
Result<std::string> find_folder(const FolderKind& kind);

// Where a user's sockets and locks are: /run/cove for root, else below $XDG_RUNTIME_DIR, else /tmp/cove-UID. `runtime`
// is the value of that variable; one that is no absolute path counts as none. Anybody can make a folder in /tmp:
// nothing in it may be used before one of the two functions below has looked at it.
std::string run_folder_of(uid_t uid, const std::string& runtime);
// That of this process.
std::string run_folder();
// Denied where it is there and is not this user's alone (stat_own_folder).
Result<void> check_run_folder(const std::string& path);
// Makes it where it is missing, then checks it.
Result<void> make_run_folder(const std::string& path);

// Denied unless it is a folder (and no link) of this user that neither its group nor others can write to.
Result<struct stat> stat_own_folder(const std::string& path, const FolderKind& kind);

}  // namespace cove::sys
