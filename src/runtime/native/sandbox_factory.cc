#include "runtime/native/sandbox_factory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <set>

#include "base/crash_point.h"
#include "base/text.h"
#include "image/catalogue.h"
#include "image/host_image.h"
#include "image/reference.h"
#include "model/runtime_kind.h"
#include "runtime/native/capabilities.h"
#include "runtime/native/group_view.h"
#include "runtime/native/own_folders.h"
#include "runtime/native/process_one_identity.h"
#include "runtime/native/user_scope.h"
#include "runtime/oci/groups.h"
#include "runtime/oci/programs.h"
#include "sys/file.h"
#include "sys/own_folder.h"
#include "sys/probe.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

constexpr uint64_t kDefaultShm = 64 * kMiB;
constexpr std::string_view kRunPrefix = "cove-run-";
constexpr std::string_view kOciRunPrefix = "cove-ocirun-";

bool is_leftover(const std::string& name) {
  std::vector<std::string> words = split(name, '-');
  Result<int64_t> pid = words.size() == 4 ? parse_integer(words[2], 1, INT32_MAX) : fail(Code::Invalid, "");
  return pid && ::kill(static_cast<pid_t>(*pid), 0) < 0 && errno == ESRCH;
}

// Finding these takes a while, so only runs with an OCI runtime clean up after earlier ones.
void sweep_oci_leftovers() {
  for (const std::string& name : oci::list_groups(std::string(kOciRunPrefix)))
    if (is_leftover(name)) oci::remove_group(name);
}

// The whole disk that contains a path, as major:minor; empty for a network or memory file system.
std::string disk_of(const std::string& path) {
  Result<struct stat> info = sys::stat(path);
  if (!info) return {};
  std::string number = concat(major(info->st_dev), ":", minor(info->st_dev));
  std::string folder = concat("/sys/dev/block/", number);
  if (!sys::exists(folder)) return {};
  if (!sys::exists(folder + "/partition")) return number;
  Result<std::string> parent = sys::read_file(folder + "/../dev");
  return parent ? std::string(trim(*parent)) : std::string();
}

uint32_t main_id(const SandboxSpec& spec) {
  std::string name = split(spec.user, ':')[0];
  return name == "root" || name == "0" ? 0 : sys::kUserId;
}

Result<void> set_limits(sys::Cgroup& group, const Limits& limits) {
  using sys::Controller;
  if (limits.cpus.value > 0 && group.has(Controller::Cpu)) COVE_TRY(group.set_cpus(limits.cpus.value));
  if (group.has(Controller::Cpuset)) COVE_TRY(group.set_cpu_count(visible_cpus(limits)));
  if (limits.memory.value > 0 && group.has(Controller::Memory))
    COVE_TRY(group.set_memory(limits.memory.value, swap_for(group, limits)));
  if (limits.processes.value > 0 && group.has(Controller::Pids)) COVE_TRY(group.set_pids(limits.processes.value));
  if (limits.io_read.value == 0 && limits.io_write.value == 0) return {};
  std::string disk = disk_of("/usr");
  if (disk.empty()) return fail(Code::Unsupported, "limit i/o: the image is not on a disk of this machine");
  return group.set_io(disk, limits.io_read.value, limits.io_write.value);
}

std::vector<GroupView> views_of(const sys::Cgroup* group) {
  return group ? open_group_views(*group) : std::vector<GroupView>();
}

// A runtime with its own kernel needs threads and memory for it; inside, its process 1 enforces these two limits.
Limits limits_with_kernel(Limits limits) {
  constexpr uint64_t kKernelMemory = 256 * kMiB;
  if (limits.memory.value > 0) limits.memory.value += kKernelMemory;
  limits.processes.value = 0;
  return limits;
}

// Looks up a name in the server's catalogue if no server has resolved it.
Result<std::string> digest_of(const std::string& reference) {
  std::string digest = pinned_digest(reference);
  if (!digest.empty()) return digest_hex(digest);
  std::string state = COVE_TRY(sys::find_folder(sys::kStateFolder));
  // The folder belongs to coved, which may have been compromised.
  UniqueFd folder = COVE_TRY(sys::open(state, O_PATH | O_DIRECTORY));
  Catalogue catalogue = COVE_TRY(read_catalogue(folder.get(), concat("server/", kServerImages)));
  return digest_hex(COVE_TRY(cove::find_image(catalogue, reference, "")).image->digest);
}

bool is_oci(const SandboxSpec& spec) {
  const RuntimeKind* kind = find_runtime_kind(spec.runtime);
  return kind && kind->family == RuntimeFamily::Oci;
}

LayerWish layer_wish(const SandboxSpec& spec) {
  const Limits& limits = spec.limits;
  const Lifetime lifetime = spec.one_use ? Lifetime::OneRun : spec.lifetime;
  return {lifetime, limits.disk, limits.inodes, limits.memory.value, spec.strictness};
}

// Landlock is a second layer of defence; a kernel without it causes a warning or, if strict, an error.
Result<void> check_second_fence(const SandboxSpec& spec, std::vector<std::string>& warnings) {
  if (spec.nesting || sys::landlock_abi() > 0) return {};
  if (spec.strictness == Strictness::Strict)
    return fail(Error(Code::Unsupported, "enable Landlock: this kernel does not have it")
                    .hint("boot with lsm=landlock,… or use kernel 5.13 or later"));
  warnings.push_back("Landlock is not available in this kernel");
  return {};
}

// Through an overlay mounted inside, with its upper folder in the workspace, the kernel copies set-id bits and file
// capabilities there, which no filter sees; they would take effect outside.
Result<void> check_nesting(const SandboxSpec& spec) {
  if (!spec.nesting || spec.workspace.access != Access::ReadWrite) return {};
  return fail(Error(Code::Unsupported, "nesting cannot be combined with a workspace that is 'rw'")
                  .hint("mount the folder with access 'review' or 'ro', or run without nesting"));
}

// The names of groups of long-lived sandboxes contain a hash of their server's run folder.
std::string mark_of(const std::string& folder) {
  uint32_t hash = 2166136261;
  for (char byte : folder) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619;
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

bool is_id(const std::string& text) {
  return text.size() == 20 &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

SandboxFactory::SandboxFactory(Places places, IdRanges ranges)
    : places_(std::move(places)),
      long_prefix_(concat("cove-", mark_of(places_.run_folder), "-")),
      oci_prefix_(concat("cove-oci-", mark_of(places_.run_folder), "-")),
      shares_ids_(ranges == IdRanges::Shared || !sys::can_map_layers(places_.cache) ||
                  !sys::can_map_layers(sys::find_folder(sys::kStateFolder).value_or(places_.cache))),
      groups_(sys::CgroupTree::find()) {
  bool rootless = ::geteuid() != 0;
  if (rootless && !has_all_limits() && enter_user_scope()) groups_ = sys::CgroupTree::find();
}

Capabilities SandboxFactory::capabilities(const std::string& runtime) const {
  return runtime_capabilities(runtime, groups_ ? ControlGroups::Usable : ControlGroups::Missing);
}

bool SandboxFactory::has_all_limits() const {
  using sys::Controller;
  return groups_ && (*groups_)->has(Controller::Cpu) && (*groups_)->has(Controller::Memory) &&
         (*groups_)->has(Controller::Pids);
}

// The names of groups of one run contain the pid of their creator, so that leftovers of a killed process are found.
std::string SandboxFactory::group_name(const SandboxSpec& spec) const {
  if (spec.lifetime == Lifetime::OneRun) return concat(kRunPrefix, ::getpid(), "-", spec.id);
  return concat(long_prefix_, spec.id);
}

// Run by root, OCI runtimes create a group for process 1; run by an ordinary user, they leave it in its group.
std::string SandboxFactory::oci_group_name(const SandboxSpec& spec) const {
  if (!is_oci(spec) || ::geteuid() != 0) return {};
  if (spec.lifetime == Lifetime::OneRun) return concat(kOciRunPrefix, ::getpid(), "-", spec.id);
  return concat(oci_prefix_, spec.id);
}

Result<Layers*> SandboxFactory::layers() {
  if (!layers_) layers_.emplace(COVE_TRY(sys::find_folder(sys::kStateFolder)));
  return &*layers_;
}

Result<LayerChoice> SandboxFactory::choose_layer_for(const SandboxSpec& spec) {
  const LayerWish wish = layer_wish(spec);
  if (!needs_facts(wish)) return choose_layer(wish, {});
  // An open pool shows that pools are possible.
  if (layers_ && layers_->pool_open())
    return choose_layer(wish, measure_layer_facts(COVE_TRY(sys::find_folder(sys::kStateFolder))));
  return choose_layer(wish, find_layer_facts(COVE_TRY(sys::find_folder(sys::kStateFolder))));
}

Result<std::unique_ptr<Layer>> SandboxFactory::make_layer_for(const SandboxSpec& spec, const LayerChoice& choice) {
  if (choice.kind == LayerKind::Memory) return make_layer(choice, {}, spec.id, spec.lifetime);
  return COVE_TRY_NOTE("create the writable layer", COVE_TRY(layers())->make(choice, spec.id, spec.lifetime));
}

// The host is examined for each sandbox, but not more often than packages can be installed.
Result<ImageRoot> SandboxFactory::find_host_image(const sys::IdPlan& ids, UniqueFd& hold) {
  constexpr std::chrono::milliseconds kFresh(50);
  const unsigned first_id = ids.shared ? ids.builder_id(0) : 0;
  const auto now = std::chrono::steady_clock::now();
  if (host_image_ && host_image_->first_id == first_id && now - host_image_->seen < kFresh) {
    hold = COVE_TRY(sys::dup(host_image_->hold.get()));
    return host_image_->image;
  }
  host_image_.reset();
  ImageRoot image =
      COVE_TRY_NOTE("prepare image host", host_image(places_.cache, places_.programs + "/cove-sudo", hold, first_id));
  if (builders_) host_image_ = HostImage{image, COVE_TRY(sys::dup(hold.get())), first_id, now};
  return image;
}

Result<ImageRoot> SandboxFactory::find_image(const std::string& reference, const sys::IdPlan& ids, UniqueFd& hold) {
  if (!is_host_image(reference)) {
    std::string digest = COVE_TRY(digest_of(reference));
    return COVE_TRY(layer_store()).find(digest, hold);
  }
  ImageRoot image = COVE_TRY(find_host_image(ids, hold));
  if (reference != "host" && reference != image.reference)
    return fail(Error(Code::NotFound, concat("image '", reference, "' does not match this machine any more"))
                    .hint(concat("the installed packages have changed; the current image is ", image.reference)));
  return image;
}

// Without mapped ids, files on disk have other owners, so a separate store is used.
Result<LocalLayerStore> SandboxFactory::layer_store() const {
  std::string state = COVE_TRY(sys::find_folder(sys::kStateFolder));
  return LocalLayerStore::open(concat(state, shares_ids_ ? "/images-shared" : "/images"), places_.programs);
}

Result<sys::IdPlan> SandboxFactory::plan_image_ids() const {
  if (::geteuid() != 0) return sys::plan_rootless_ids(0);
  return shares_ids_ ? sys::plan_shared_ids() : sys::plan_root_ids(places_.lock_folder);
}

Result<std::optional<unpack::Report>> SandboxFactory::find_layer(const std::string& key) const {
  return COVE_TRY(layer_store()).find_layer(key);
}

Result<unpack::Report> SandboxFactory::unpack_layer(const UnpackRequest& request) const {
  sys::IdPlan ids = COVE_TRY(plan_image_ids());
  return COVE_TRY(layer_store()).unpack(request, ids);
}

Result<unpack::Report> SandboxFactory::examine_layer(const std::string& key) const {
  sys::IdPlan ids = COVE_TRY(plan_image_ids());
  return COVE_TRY(layer_store()).examine(key, ids);
}

Result<void> SandboxFactory::assemble_image(const std::string& digest, const std::vector<std::string>& keys) const {
  sys::IdPlan ids = COVE_TRY(plan_image_ids());
  return COVE_TRY(layer_store()).assemble(digest, keys, ids);
}

Result<void> SandboxFactory::sweep_images(const std::set<std::string>& roots,
                                          const std::set<std::string>& layers) const {
  sys::IdPlan ids = COVE_TRY(plan_image_ids());
  return COVE_TRY(layer_store()).sweep(roots, layers, ids);
}

Result<std::optional<OciPlan>> SandboxFactory::plan_oci(const SandboxSpec& spec, const sys::IdPlan& ids) const {
  if (!is_oci(spec)) return std::nullopt;
  const RuntimeKind& kind = *find_runtime_kind(spec.runtime);
  if (spec.nesting)
    return fail(Error(Code::Unsupported, concat("nesting is not supported by the runtime ", spec.runtime))
                    .hint("use the native runtime for nesting"));
  OciPlan plan{spec.runtime, COVE_TRY(oci::find_program(kind)), oci_group_name(spec)};
  COVE_TRY(oci::check_rights(kind, {::geteuid() == 0, has_all_limits(), !ids.single_id}));
  plan.own_kernel = has_own_kernel(spec.runtime);
  if (!plan.own_kernel) return plan;
  plan.processes = spec.limits.processes.value;
  plan.memory = spec.limits.memory.value;
  plan.network = has_network(spec.network);
  return plan;
}

Result<RuntimeFact> SandboxFactory::examine(const RuntimeKind& kind) const {
  const bool root = ::geteuid() == 0;
  const bool ids = root || !COVE_TRY(sys::plan_rootless_ids(0)).single_id;
  return oci::examine(kind, {root, has_all_limits(), ids});
}

Means SandboxFactory::means(const SandboxSpec& spec, LayerKind layer) const {
  Means means;
  means.layer = layer;
  means.quota = layer == LayerKind::Pool;
  // An OCI runtime creates the inner namespace itself, with its own limits.
  means.nested_ids = ::geteuid() != 0 && !is_oci(spec);
  means.nesting = spec.nesting;
  if (!groups_) {
    means.why_not = groups_.error().message();
    means.hint = groups_.error().hint();
    return means;
  }
  means.cpu = (*groups_)->has(sys::Controller::Cpu);
  means.memory = (*groups_)->has(sys::Controller::Memory);
  means.swap = (*groups_)->counts_swap();
  means.processes = (*groups_)->has(sys::Controller::Pids);
  means.io = (*groups_)->has(sys::Controller::Io);
  means.why_not = (*groups_)->describe();
  return means;
}

Result<sys::IdPlan> SandboxFactory::plan_ids(const SandboxSpec& spec) const {
  if (::geteuid() != 0) return sys::plan_rootless_ids(main_id(spec));
  if (shares_ids_) return sys::plan_shared_ids();
  return sys::plan_root_ids(places_.lock_folder);
}

Result<SpawnPlan> SandboxFactory::plan(const SandboxSpec& spec, const Holding& holding) {
  COVE_TRY(check_nesting(spec));
  SpawnPlan plan;
  plan.id = spec.id;
  plan.hostname = spec.name.empty() ? kDefaultHostname : spec.name;
  plan.init_program = places_.programs + "/cove-init";
  plan.ids = COVE_TRY(plan_ids(spec));
  plan.image = COVE_TRY(find_image(spec.image, plan.ids, plan.image_hold));
  plan.workspace = spec.workspace;
  plan.workspace_owner = main_id(spec);
  if (spec.workspace.access != Access::None) plan.own_folders = COVE_TRY(own_folders(places_));
  plan.shm_bytes = spec.limits.memory.value ? std::max(kDefaultShm, spec.limits.memory.value / 2) : kDefaultShm;
  plan.memory = spec.limits.memory.value;
  plan.process_rlimit = holding.process_rlimit;
  plan.watched_memory = holding.watched_memory;
  plan.pinned_cpus = holding.pinned_cpus;
  plan.nesting = spec.nesting;
  plan.ends_with_exec = spec.ends_with_exec;
  plan.lifetime = spec.lifetime;
  plan.oci = COVE_TRY(plan_oci(spec, plan.ids));
  return plan;
}

Result<std::unique_ptr<sys::Cgroup>> SandboxFactory::make_group(const SandboxSpec& spec) {
  using sys::Controller;
  if (!groups_) return std::unique_ptr<sys::Cgroup>();
  std::vector<Controller> wanted = {Controller::Cpu, Controller::Memory, Controller::Pids};
  const bool throttled = spec.limits.io_read.value > 0 || spec.limits.io_write.value > 0;
  // On v1 each controller has a folder of its own to create, join and remove.
  if (throttled || (*groups_)->version() == 2) wanted.push_back(Controller::Io);
  if (!spec.single_exec) wanted.push_back(Controller::Freezer);
  // On v1, Java reads none of its limits unless it finds cpu, cpuacct, cpuset and memory.
  if (spec.limits.cpus.named || (*groups_)->version() == 1) wanted.push_back(Controller::Cpuset);
  std::unique_ptr<sys::Cgroup> group = COVE_TRY((*groups_)->create(group_name(spec), wanted));
  Result<void> limited =
      set_limits(*group, has_own_kernel(spec.runtime) ? limits_with_kernel(spec.limits) : spec.limits);
  if (!limited) {
    static_cast<void>(group->remove());
    return std::unexpected(limited.error());
  }
  return group;
}

// Contains a group for the runtime's own kernel.
Result<std::unique_ptr<sys::Cgroup>> SandboxFactory::make_kernel_group(const SandboxSpec& spec, OciPlan& plan) {
  std::unique_ptr<sys::Cgroup> group = COVE_TRY(make_group(spec));
  Result<std::unique_ptr<sys::Cgroup>> inner = group->create_child("kernel");
  Result<std::vector<UniqueFd>> fds = inner ? (*inner)->open_join_fds() : std::unexpected(inner.error());
  if (!fds) {
    static_cast<void>(group->remove());
    return std::unexpected(fds.error());
  }
  plan.join_fds = std::move(*fds);
  return group;
}

void SandboxFactory::sweep_leftovers() {
  if (!groups_) return;
  Result<std::vector<std::string>> names = (*groups_)->list(std::string(kRunPrefix));
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_leftover(name)) continue;
    Result<std::unique_ptr<sys::Cgroup>> group = (*groups_)->adopt(name);
    if (group) static_cast<void>(sys::destroy(**group));
  }
}

Result<CreatedSandbox> SandboxFactory::create(const SandboxSpec& wanted) {
  SandboxSpec spec = wanted;
  std::unique_ptr<Layer> layer;
  if (spec.restarted) layer = COVE_TRY_NOTE("find the writable layer", COVE_TRY(layers())->find(spec.id));
  LayerChoice choice = COVE_TRY(layer ? choose_again(layer_wish(spec), layer->mount().kind) : choose_layer_for(spec));
  spec.limits.disk.value = choice.bytes;
  Holding holding = COVE_TRY(plan_enforcement(spec.limits, means(spec, choice.kind), spec.strictness));
  COVE_TRY(check_second_fence(spec, holding.warnings));
  if (!choice.warning.empty()) holding.warnings.push_back(choice.warning);
  SpawnPlan plan = COVE_TRY(this->plan(spec, holding));
  if (!layer)
    layer = COVE_TRY(make_layer_for(spec, choice));
  else if (choice.kind == LayerKind::Pool)
    COVE_TRY(COVE_TRY(layers())->limit(spec.id, choice.bytes));
  // Set from the start: leftovers of a killed process are found by the id.
  if (spec.lifetime == Lifetime::Long) layer->keep();
  crash_point("spawn.create.layer");
  Result<CreatedSandbox> created = create_on(std::move(spec), std::move(holding), std::move(plan), layer);
  if (!created && layer && wanted.lifetime == Lifetime::Long && !wanted.restarted) static_cast<void>(layer->remove());
  return created;
}

Result<CreatedSandbox> SandboxFactory::create_on(SandboxSpec spec, Holding holding, SpawnPlan plan,
                                                 std::unique_ptr<Layer>& layer) {
  plan.layer = layer->mount();
  sys::SocketPair control = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  LocalResources::Parts parts;
  UniqueFd listener;
  if (spec.lifetime == Lifetime::Long) {
    COVE_TRY(make_run_folders(places_));
    parts.socket_path = socket_path(spec.id);
    ::unlink(parts.socket_path.c_str());
    listener = COVE_TRY(sys::listen_unix(parts.socket_path, 4));
    plan.listener = listener.get();
  }
  auto clean_up = [this, &layer, name = group_name(spec), oci_name = oci_group_name(spec)] {
    static_cast<void>(layer->remove());
    oci::remove_group(oci_name);
    if (!groups_) return;
    Result<std::unique_ptr<sys::Cgroup>> group = (*groups_)->adopt(name);
    if (group) static_cast<void>(sys::destroy(**group));
  };
  const bool own_kernel = plan.oci && plan.oci->own_kernel;
  Result<std::unique_ptr<sys::Cgroup>> group;
  if (own_kernel) group = COVE_TRY_NOTE("create the control group", make_kernel_group(spec, *plan.oci));
  const bool by_pool = builders_ && BuilderPool::takes(plan);
  parts.builder = COVE_TRY(by_pool ? builders_->build(plan, control) : start_builder(plan, control, clean_up));
  crash_point("spawn.create.builder");
  // The groups are created while the sandbox is being built, unless a process must be in them from the start.
  if (!own_kernel) group = make_group(spec);
  crash_point("spawn.create.group");
  // Ignored: a builder that has ended has reported the reason.
  if (group) static_cast<void>(send_group_views(parts.builder->status.get(), views_of(group->get())));
  if (!group) {
    control.first.reset();
    abandon(*parts.builder);
    if (spec.lifetime == Lifetime::Long) {
      // Nothing listens at the socket any more; process 1, if known, has just been killed.
      listener.reset();
      if (parts.builder->process_1) ::unlink(parts.socket_path.c_str());
      // A builder that died may have started process 1.
      static_cast<void>(remove_leftovers(spec.id, Files::Keep));
    }
    return fail(std::move(group.error()).note("create the control group"));
  }
  parts.layer = std::move(layer);
  parts.group = std::move(*group);
  parts.exec_groups = !own_kernel;
  parts.id_lock = std::move(plan.ids.lock);
  parts.image_hold = std::move(plan.image_hold);
  if (spec.lifetime == Lifetime::OneRun) {
    parts.idle_work = [this, oci = is_oci(spec)] {
      sweep_leftovers();
      if (oci) sweep_oci_leftovers();
    };
  }
  if (is_oci(spec)) parts.after_end = [name = oci_group_name(spec)] { oci::remove_group(name); };
  parts.spec = spec;
  CreatedSandbox created{std::move(spec), std::move(holding), nullptr, std::move(control.first)};
  created.resources = std::make_unique<LocalResources>(std::move(parts));
  return created;
}

// If process 1 does not respond, everything except its files is removed, so that it can be started again.
Result<CreatedSandbox> SandboxFactory::adopt(const SandboxSpec& spec) {
  Result<CreatedSandbox> created = adopt_running(spec);
  if (!created) static_cast<void>(remove_leftovers(spec.id, Files::Keep));
  return created;
}

Result<CreatedSandbox> SandboxFactory::adopt_running(const SandboxSpec& spec) {
  CreatedSandbox created;
  created.spec = spec;
  created.control = COVE_TRY_NOTE(concat("adopt sandbox ", spec.id), connect_to_process_one(socket_path(spec.id)));
  LocalResources::Parts parts = COVE_TRY(find_parts(spec.id));
  if (!parts.layer && spec.one_use) parts.layer = COVE_TRY(make_layer({}, {}, spec.id, spec.lifetime));  // in memory
  if (!parts.layer) return fail(Code::NotFound, concat("the writable layer of sandbox ", spec.id, " is gone"));
  parts.process_1 = COVE_TRY_NOTE(concat("adopt sandbox ", spec.id), ask_identity(created.control.get()));
  parts.exec_groups = !has_own_kernel(spec.runtime);
  if (created.spec.limits.disk.value == 0) created.spec.limits.disk.value = kDefaultDisk;
  LayerKind kind = parts.layer->mount().kind;
  created.holding = COVE_TRY(plan_enforcement(created.spec.limits, means(spec, kind), spec.strictness));
  parts.spec = created.spec;
  created.resources = std::make_unique<LocalResources>(std::move(parts));
  return created;
}

// Finds all resources of a long-lived sandbox.
Result<LocalResources::Parts> SandboxFactory::find_parts(const std::string& id) {
  LocalResources::Parts parts = COVE_TRY(find_traces(id));
  Result<std::unique_ptr<Layer>> layer = COVE_TRY(layers())->find(id);
  if (!layer && layer.error().code() != Code::NotFound) return std::unexpected(layer.error());
  if (layer) parts.layer = std::move(*layer);
  return parts;
}

// The same without the files.
Result<LocalResources::Parts> SandboxFactory::find_traces(const std::string& id) {
  LocalResources::Parts parts;
  parts.spec.id = id;
  parts.spec.lifetime = Lifetime::Long;
  parts.socket_path = socket_path(id);
  parts.after_end = [name = concat(oci_prefix_, id)] { oci::remove_group(name); };
  if (!groups_) return parts;
  Result<std::unique_ptr<sys::Cgroup>> group = (*groups_)->adopt(concat(long_prefix_, id));
  if (!group && group.error().code() != Code::NotFound) return std::unexpected(group.error());
  if (group) parts.group = std::move(*group);
  return parts;
}

Result<void> SandboxFactory::remove_leftovers(const std::string& id, Files files) {
  LocalResources::Parts parts = COVE_TRY(files == Files::Remove ? find_parts(id) : find_traces(id));
  return LocalResources(std::move(parts)).destroy(files);
}

Result<void> SandboxFactory::remove_files(const std::string& id) { return remove_leftovers(id, Files::Remove); }

Result<void> SandboxFactory::sweep(const std::vector<std::string>& known) {
  std::set<std::string> ids;
  if (sys::exists(places_.run_folder))
    for (std::string& name : COVE_TRY(sys::list_folder(places_.run_folder)))
      if (is_id(name)) ids.insert(std::move(name));
  for (std::string& id : COVE_TRY(COVE_TRY(layers())->list_long())) ids.insert(std::move(id));
  if (groups_)
    for (const std::string& name : COVE_TRY((*groups_)->list(long_prefix_)))
      ids.insert(name.substr(long_prefix_.size()));
  for (const std::string& name : oci::list_groups(oci_prefix_)) ids.insert(name.substr(oci_prefix_.size()));
  for (const std::string& id : known) ids.erase(id);
  Result<void> swept;
  for (const std::string& id : ids) {
    Result<void> removed = remove_leftovers(id, Files::Remove);
    if (!removed) swept = fail(std::move(removed).error().note(concat("remove leftovers of sandbox ", id)));
  }
  return swept;
}

void SandboxFactory::maintain() {
  rest();
  if (layers_) static_cast<void>(layers_->maintain());
}

Result<void> make_run_folders(const Places& places) {
  COVE_TRY(sys::make_run_folder(places.lock_folder));
  COVE_TRY(sys::make_folders(places.run_folder, 0700));
  return sys::check_run_folder(places.run_folder);
}

Result<Places> find_places() {
  Places places;
  std::string program = COVE_TRY(sys::readlink("/proc/self/exe"));
  places.programs = program.substr(0, program.rfind('/'));
  places.cache = COVE_TRY(cache_folder());
  places.lock_folder = sys::run_folder();
  COVE_TRY(sys::check_run_folder(places.lock_folder));
  const char* other_state = ::getenv(sys::kStateFolder.variable);
  places.run_folder = other_state ? concat(other_state, "/run") : concat(places.lock_folder, "/sandboxes");
  return places;
}

}  // namespace cove::native
