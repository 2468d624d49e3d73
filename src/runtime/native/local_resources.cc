#include "runtime/native/local_resources.h"

#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/text.h"
#include "image/catalogue.h"
#include "runtime/native/enforcement.h"
#include "runtime/native/process_one_identity.h"
#include "sys/file.h"
#include "sys/ids.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

std::string make_group_name() { return concat("e-", make_id()); }

std::unexpected<Error> no_groups(const char* what) {
  return fail(Error(Code::Unsupported, concat(what, " requires control groups, and this user cannot create any"))
                  .hint("`cove doctor` shows how to change that"));
}

}  // namespace

LocalResources::~LocalResources() {
  if (!ended_ && parts_.spec.lifetime == Lifetime::OneRun) static_cast<void>(destroy(Files::Remove));
}

Result<void> LocalResources::ready() {
  if (built_ || !parts_.builder) return {};
  BuilderMessage word = COVE_TRY(read_builder_message(*parts_.builder));
  if (word != BuilderMessage::Built) return fail(Code::Internal, "the builder of the sandbox died");
  built_ = true;
  if (parts_.spec.lifetime == Lifetime::OneRun) return {};
  parts_.process_1 = std::move(parts_.builder->process_1);
  if (killed_when_built_) static_cast<void>(sys::kill_by_pidfd(parts_.process_1.get(), SIGKILL));
  // From here on its mounts show that it is in use, even if a process dies.
  if (is_host_image(parts_.spec.image)) parts_.image_hold.reset();
  // A builder that watches memory stays.
  if (parts_.builder->stays) return {};
  if (reaps_) static_cast<void>(wait_for_end(*parts_.builder));
  parts_.builder.reset();
  return {};
}

SandboxEnded LocalResources::how_it_ended() {
  SandboxEnded end;
  for (bool more = parts_.builder.has_value(); more;) {
    Result<BuilderMessage> word = read_builder_message(*parts_.builder);
    if (!word)
      end.error = word.error();
    else if (*word == BuilderMessage::OutOfMemory)
      end.out_of_memory = true;
    more = word && *word != BuilderMessage::Gone && *word != BuilderMessage::Ended;
  }
  return end;
}

// The caller reads the group's usage; this keeps the group to kill and remove it.
Result<std::unique_ptr<sys::Cgroup>> LocalResources::copy_of(const sys::Cgroup& group, const std::string& name) const {
  sys::Cgroup::Parts parts = group.parts();
  std::vector<UniqueFd> folders;
  for (int fd : parts.folders) folders.push_back(COVE_TRY(sys::dup(fd)));
  return sys::cgroup_from_parts(name, parts.version, parts.kinds, std::move(folders));
}

Result<ExecGroup> LocalResources::take_exec_group() {
  if (!has_groups()) return no_groups("an exec's group");
  if (parts_.spec.single_exec)
    return ExecGroup{{}, COVE_TRY(copy_of(*parts_.group, {})), COVE_TRY(parts_.group->open_join_fds())};
  if (!spare_.group) spare_.group = COVE_TRY(parts_.group->create_child(make_group_name()));
  if (spare_.join_fds.empty()) spare_.join_fds = COVE_TRY(spare_.group->open_join_fds());
  std::string name = spare_.group->name();
  ExecGroup taken{name, COVE_TRY(copy_of(*spare_.group, name)), std::exchange(spare_.join_fds, {})};
  exec_groups_.emplace(std::move(name), std::move(spare_.group));
  return taken;
}

void LocalResources::make_spare() {
  if (!has_groups() || parts_.spec.single_exec) return;
  // Lets the process that was woken for the exec run first: it often queues behind this one, though another CPU is
  // idle.
  ::sched_yield();
  remove_retired();
  if (spare_.group) return;
  Result<std::unique_ptr<sys::Cgroup>> group = parts_.group->create_child(make_group_name());
  if (!group) return;
  Result<std::vector<UniqueFd>> join_fds = (*group)->open_join_fds();
  if (join_fds) spare_ = {std::move(*group), std::move(*join_fds)};
}

Result<std::unique_ptr<sys::Cgroup>> LocalResources::adopt_exec_group(const std::string& name) {
  if (!parts_.group) return no_groups("an exec's group");
  auto found = exec_groups_.find(name);
  if (found == exec_groups_.end()) found = exec_groups_.emplace(name, COVE_TRY(parts_.group->adopt_child(name))).first;
  return copy_of(*found->second, name);
}

Result<void> LocalResources::kill_exec_group(const std::string& name) {
  if (parts_.spec.single_exec && parts_.builder) return kill(), Result<void>();
  auto found = exec_groups_.find(name);
  if (found == exec_groups_.end()) return fail(Code::NotFound, concat("no control group ", name));
  return found->second->kill();
}

void LocalResources::retire_exec_group(const std::string& name) {
  auto found = exec_groups_.find(name);
  if (found == exec_groups_.end()) return;
  retired_.push_back(std::move(found->second));
  exec_groups_.erase(found);
}

void LocalResources::remove_retired() {
  std::erase_if(retired_, [](const auto& group) { return group->remove().has_value(); });
}

Result<void> LocalResources::freeze() { return parts_.group ? parts_.group->freeze() : no_groups("pausing"); }
Result<void> LocalResources::thaw() { return parts_.group ? parts_.group->thaw() : no_groups("resuming"); }

Result<void> LocalResources::set_limits(const Limits& limits) {
  if (!parts_.group) return no_groups("changing limits");
  if (limits.cpus.named) COVE_TRY(parts_.group->set_cpus(limits.cpus.value));
  if (limits.cpus.named && parts_.group->has(sys::Controller::Cpuset))
    COVE_TRY(parts_.group->set_cpu_count(visible_cpus(limits)));
  if ((limits.memory.named || limits.swap.named) && limits.memory.value > 0)
    COVE_TRY(parts_.group->set_memory(limits.memory.value, swap_for(*parts_.group, limits)));
  if (limits.processes.named) COVE_TRY(parts_.group->set_pids(limits.processes.value));
  return {};
}

Result<sys::CgroupUsage> LocalResources::usage() {
  if (!parts_.group) return no_groups("a sandbox's statistics");
  return parts_.group->usage();
}

Result<uint64_t> LocalResources::layer_usage() {
  if (!parts_.layer) return fail(Code::NotFound, "the sandbox has no writable layer");
  return parts_.layer->usage();
}

Result<NetworkPlace> LocalResources::network_place() {
  if (parts_.spec.lifetime == Lifetime::OneRun)
    return fail(Error(Code::Unsupported, "a run without a server has no network")
                    .hint("start a server with `cove serve`, and run without --direct"));
  if (!built_ && parts_.builder) return fail(Code::Unavailable, "the sandbox is not built yet");
  if (!parts_.process_1) return fail(Code::Unavailable, "the sandbox is gone");
  const bool linked = has_own_kernel(parts_.spec.runtime);
  return NetworkPlace{parts_.process_1.get(), linked ? net::Programs::BehindLink : net::Programs::Here};
}

Result<NetworkSockets> LocalResources::open_network() {
  COVE_TRY(ready());
  const NetworkPlace place = COVE_TRY(network_place());
  return COVE_TRY_NOTE(concat("open the network of sandbox ", parts_.spec.id), open_network_of(place));
}

// A builder that died may have started process 1 before it could report it.
void LocalResources::find_process_1() {
  if (parts_.process_1 || parts_.socket_path.empty()) return;
  Result<UniqueFd> control = connect_to_process_one(parts_.socket_path);
  if (control) parts_.process_1 = ask_identity(control->get()).value_or(UniqueFd());
}

void LocalResources::kill() {
  if (parts_.spec.lifetime == Lifetime::OneRun) {
    if (parts_.builder) kill_sandbox(*parts_.builder);
    return;
  }
  // Its builder may be blocked on a file system that does not respond.
  if (parts_.builder && !built_ && !has_builder_message(*parts_.builder)) {
    killed_when_built_ = true;
    return;
  }
  if (!ready() || !parts_.process_1) find_process_1();
  if (parts_.process_1) static_cast<void>(sys::kill_by_pidfd(parts_.process_1.get(), SIGKILL));
}

// This ends every process of the sandbox.
Result<void> LocalResources::wait_for_process_1() const {
  if (!parts_.process_1) return {};
  if (sys::ends_within(parts_.process_1.get(), kEndTimeout)) return {};
  return fail(Code::Unavailable, concat("sandbox ", parts_.spec.id, " does not end"));
}

void LocalResources::retire_all() {
  if (spare_.group) retired_.push_back(std::move(spare_.group));
  spare_ = {};
  for (auto& [name, group] : exec_groups_) retired_.push_back(std::move(group));
  exec_groups_.clear();
}

Result<void> LocalResources::remove_groups() {
  retire_all();
  for (auto& group : retired_) static_cast<void>(sys::destroy(*group));
  retired_.clear();
  if (parts_.group) COVE_TRY_NOTE("remove the control group", sys::destroy(*parts_.group));
  parts_.group.reset();
  return {};
}

Result<void> LocalResources::remove_layer() {
  if (!parts_.layer) return {};
  if (layer_kind() != LayerKind::Folder || ::geteuid() == 0) return parts_.layer->remove();
  // Its contents belong to ids that this user alone cannot access.
  sys::IdPlan ids = COVE_TRY(sys::plan_rootless_ids(sys::kUserId));
  return sys::do_as_owner_of(ids, [this] { return parts_.layer->remove(); });
}

bool LocalResources::in_use() const { return !parts_.group || parts_.group->populated().value_or(true); }

// The folder may contain many files.
bool LocalResources::can_end_in_steps(Files files) const {
  return !waits_for_others() && parts_.process_1 && !parts_.builder &&
         (files == Files::Keep || layer_kind() != LayerKind::Folder);
}

void LocalResources::begin_end() {
  ended_ = true;
  kill();
}

Result<void> LocalResources::finish_end(Files files) {
  crash_point("spawn.destroy.group");
  if (parts_.after_end) parts_.after_end();
  retire_all();
  remove_retired();
  if (parts_.group) COVE_TRY_NOTE("remove the control group", parts_.group->remove());
  parts_.group.reset();
  if (!parts_.socket_path.empty()) ::unlink(parts_.socket_path.c_str());
  parts_.id_lock.reset();
  crash_point("spawn.destroy.layer");
  return files == Files::Remove ? remove_layer() : Result<void>();
}

Result<void> LocalResources::destroy(Files files) {
  ended_ = true;
  if (parts_.spec.lifetime == Lifetime::Long) static_cast<void>(ready());
  kill();
  // A subvolume can be removed while it is in use, and is removed now: if this process is killed, the builder
  // continues.
  Result<void> unlayered;
  if (files == Files::Remove && layer_kind() == LayerKind::Pool) unlayered = parts_.layer->remove();
  if (parts_.idle_work) parts_.idle_work();
  // Removes the groups while the builder removes the mounts.
  if (parts_.builder) wait_for_processes(*parts_.builder);
  Result<void> gone = wait_for_process_1();
  crash_point("spawn.destroy.group");
  if (parts_.after_end) parts_.after_end();
  Result<void> ungrouped = remove_groups();
  if (parts_.builder) COVE_TRY(wait_for_end(*parts_.builder));
  parts_.builder.reset();
  if (!parts_.socket_path.empty()) ::unlink(parts_.socket_path.c_str());
  parts_.id_lock.reset();
  crash_point("spawn.destroy.layer");
  if (unlayered && files == Files::Remove) unlayered = remove_layer();
  if (!gone) return gone;
  return ungrouped ? unlayered : ungrouped;
}

}  // namespace cove::native
