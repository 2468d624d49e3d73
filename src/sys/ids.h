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

// The mapping of user and group ids inside a sandbox to those outside.
//
// As root, a sandbox has 65,536 host ids of its own. Rootless, the caller is `user` inside, and the caller's
// subordinate ids are the others; without subordinate ids there is only one id inside, that of the sandbox's user.
struct IdPlan {
  bool rootless = false;
  bool single_id = false;
  bool shared = false;     // as root: one range for all sandboxes, because this kernel cannot map the ids of layers
  sys::IdMap outer_users;  // rootless: the builder's namespace, in host ids
  sys::IdMap outer_groups;
  sys::IdMap users;  // the sandbox's namespace, in the builder's ids
  sys::IdMap groups;
  UniqueFd lock;  // as root: reserves the range while it is open in any process

  // The id in the builder's namespace for an id inside.
  uint32_t builder_id(uint32_t inside) const;
  // clone3 with a new user namespace. The kernel also charges per-user resources (inotify, pending signals, timers,
  // message queues, namespaces) to the creator of the namespace: as root that is the sandbox's own root, so that no
  // sandbox uses up the resources of the machine's root.
  Result<sys::Child> clone_with_user_namespace(uint64_t flags) const;
};

// Whether overlayfs supports layers with mapped ids (Linux 5.19), and the file system of `folder` supports id-mapped
// mounts, which an overlay, as in a container, does not.
bool can_map_layers(const std::string& folder);
// As root, if it does not: the range that all sandboxes share.
IdPlan plan_shared_ids();
// As root: reserves a free range with a lock in `run_folder` that ends with its last holder.
Result<IdPlan> plan_root_ids(const std::string& run_folder);
// As an ordinary user; `main_id` is the only id inside if there are no subordinate ids.
Result<IdPlan> plan_rootless_ids(uint32_t main_id);

// The start of the range that /etc/subuid (or subgid) assigns to a user, or 0 if it has fewer than 65,536 ids.
uint32_t find_subordinate_ids(std::string_view table, std::string_view user, uint32_t uid);

// Calls `work` in a child with access to the files of all these ids (rootless: including subordinate ones).
Result<void> do_as_owner_of(const IdPlan& ids, const std::function<Result<void>()>& work);

// As root: how the ids of a folder's files are mapped inside. The folder's owner is mapped to `shown`, one of the
// sandbox's ids; all other owners are unmapped. Two ids inside cannot be the same one outside, so root inside, if it is
// not `shown` itself, has a separate id on disk: the owner's user id plus 2^31. No user has this id; no sandbox on a
// folder of another owner can access such files, and every later one on a folder of this owner can. If the owner's id
// is too high for this, root inside cannot create files.
struct WorkspaceIds {
  sys::IdMap users;
  sys::IdMap groups;
};
WorkspaceIds plan_workspace_ids(uint32_t owner, uint32_t group, uint32_t shown, uint32_t root);

// A user namespace with these maps, in this process's ids, for id-mapped mounts. It contains no process.
Result<UniqueFd> make_id_mapping(const sys::IdMap& users, const sys::IdMap& groups);

// As root: the user namespace of a sandbox that an OCI runtime creates.
Result<UniqueFd> make_user_namespace(const IdPlan& ids);

// Runs newuidmap and newgidmap for the builder's new namespace.
Result<void> map_with_helpers(pid_t builder, const IdPlan& ids);

}  // namespace cove::sys
