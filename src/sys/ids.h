#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/process.h"

namespace cove::sys {

inline constexpr uint32_t kIdsPerSandbox = 65536;
inline constexpr uint32_t kUserId = 1000;  // `user` inside

// How user and group ids inside a sandbox relate to those outside.
//
// As root a sandbox has 65,536 host ids of its own. Rootless, the caller is `user` inside and his subordinate ids are
// the others; without subordinate ids there is only one id inside, the one that the sandbox's own user has.
struct IdPlan {
  bool rootless = false;
  bool single_id = false;
  bool shared = false;     // as root: one range for all sandboxes, because this kernel cannot map the ids of layers
  sys::IdMap outer_users;  // rootless: the builder's namespace, in host ids
  sys::IdMap outer_groups;
  sys::IdMap users;  // the sandbox's namespace, in the builder's ids
  sys::IdMap groups;
  UniqueFd lock;  // as root: holds the range for as long as anyone has this open

  // The id that the builder sees for an id inside.
  uint32_t builder_id(uint32_t inside) const;
  // clone3 with a new user namespace. What the kernel counts per user (inotify, pending signals, timers, message
  // queues, namespaces) it counts for who made the namespace, too: as root that is the sandbox's own root, so that no
  // sandbox uses up what the machine's root has.
  Result<sys::Child> clone_with_user_namespace(uint64_t flags) const;
};

// Whether overlayfs takes layers with mapped ids (Linux 5.19), and `folder`, which holds some, is on a file system that
// can be mounted so: not on an overlay itself, as in a container.
bool can_map_layers(const std::string& folder);
// As root, where it does not: the range that all sandboxes share.
IdPlan plan_shared_ids();
// As root: takes a free range, remembered in `run_folder` by a lock that ends with its last holder.
Result<IdPlan> plan_root_ids(const std::string& run_folder);
// As an ordinary user; `main_id` is the one id that there is inside where there are no subordinate ids.
Result<IdPlan> plan_rootless_ids(uint32_t main_id);

// The range that /etc/subuid (or subgid) gives to a user: its start, or 0 where there are fewer than 65,536 ids.
uint32_t find_subordinate_ids(std::string_view table, std::string_view user, uint32_t uid);

// Does `work` in a child that has power over the files of all these ids (rootless: subordinate ones, too).
Result<void> do_as_owner_of(const IdPlan& ids, const std::function<Result<void>()>& work);

// As root: how the files of a folder are shown inside. The folder's owner is `shown`, one of the sandbox's ids; whoever
// else has files there is nobody. Two ids inside cannot be one outside, so root inside, where it is not `shown` itself,
// has an id of its own on disk: the owner's user id and 2^31. Nobody else has it, no sandbox on a folder of another
// owner can touch what it made, and every later one on a folder of this owner can. An owner without room for it: no
// files for root inside.
struct WorkspaceIds {
  sys::IdMap users;
  sys::IdMap groups;
};
WorkspaceIds plan_workspace_ids(uint32_t owner, uint32_t group, uint32_t shown, uint32_t root);

// A user namespace with these maps, in this process's ids: for mounts with mapped ids. Nobody lives in it.
Result<UniqueFd> make_id_mapping(const sys::IdMap& users, const sys::IdMap& groups);

// As root: the user namespace of a sandbox that an OCI runtime is to make.
Result<UniqueFd> make_user_namespace(const IdPlan& ids);

// Runs newuidmap and newgidmap for the builder's new namespace.
Result<void> map_with_helpers(pid_t builder, const IdPlan& ids);

}  // namespace cove::sys
