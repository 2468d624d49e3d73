#include "runtime/native/native_runtime.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "image/host_image.h"
#include "layer/choose.h"
#include "layer/make.h"
#include "runtime/native/native_sandbox.h"
#include "runtime/native/user_scope.h"
#include "sys/file.h"
#include "sys/own_folder.h"
#include "sys/probe.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

constexpr uint64_t kDefaultShm = 64 * kMiB;
constexpr std::string_view kRunPrefix = "cove-run-";

// Groups of one run carry the number of the process that made them, so that the next one can tell what a killed
// process left.
std::string group_name(const SandboxSpec& spec) {
  if (spec.lifetime == Lifetime::OneRun) return concat(kRunPrefix, ::getpid(), "-", spec.id);
  return concat("cove-", spec.id);
}

bool is_left_over(const std::string& name) {
  std::vector<std::string> words = split(name, '-');
  Result<int64_t> pid = words.size() == 4 ? parse_integer(words[2], 1, INT32_MAX) : fail(Code::Invalid, "");
  return pid && ::kill(static_cast<pid_t>(*pid), 0) < 0 && errno == ESRCH;
}

// The whole disk that a path lies on, as major:minor; empty where it is none (a network or memory file system).
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
  return name == "root" || name == "0" ? 0 : kUserId;
}

Result<void> set_limits(sys::Cgroup& group, const Limits& limits) {
  using sys::Controller;
  if (limits.cpus.value > 0 && group.has(Controller::Cpu)) COVE_TRY(group.set_cpus(limits.cpus.value));
  if (limits.memory.value > 0 && group.has(Controller::Memory)) COVE_TRY(group.set_memory(limits.memory.value));
  if (limits.processes.value > 0 && group.has(Controller::Pids)) COVE_TRY(group.set_pids(limits.processes.value));
  if (limits.io_read.value == 0 && limits.io_write.value == 0) return {};
  std::string disk = disk_of("/usr");
  if (disk.empty()) return fail(Code::Unsupported, "limit i/o: the image is not on a disk of this machine");
  return group.set_io(disk, limits.io_read.value, limits.io_write.value);
}

Result<LayerChoice> choose_layer_for(const SandboxSpec& spec) {
  const Limits& limits = spec.limits;
  LayerWish wish = {spec.lifetime, limits.disk, limits.inodes, limits.memory.value, spec.strictness};
  if (!needs_facts(wish)) return choose_layer(wish, {});
  return choose_layer(wish, find_layer_facts(COVE_TRY(sys::find_folder(sys::kStateFolder))));
}

Result<std::unique_ptr<Layer>> make_layer_for(const SandboxSpec& spec, const LayerChoice& choice) {
  std::string state;
  if (choice.kind != LayerKind::Memory) state = COVE_TRY(sys::find_folder(sys::kStateFolder));
  return COVE_TRY_NOTE("make the writable layer", make_layer(choice, state, spec.id, spec.lifetime));
}

// Landlock stands behind the other fences; a kernel without it is told, or refused.
Result<void> check_second_fence(const SandboxSpec& spec, std::vector<std::string>& warnings) {
  if (spec.nesting || sys::landlock_abi() > 0) return {};
  if (spec.strictness == Strictness::Strict)
    return fail(Error(Code::Unsupported, "put up the second fence: this kernel has no Landlock")
                    .hint("boot with lsm=landlock,… or a kernel of 5.13 or later"));
  warnings.push_back("the second fence is missing: this kernel has no Landlock");
  return {};
}

class NativeRuntime : public Runtime {
 public:
  NativeRuntime(Places places, IdRanges ranges)
      : places_(std::move(places)),
        shares_ids_(ranges == IdRanges::Shared || !can_map_layers(places_.cache)),
        groups_(sys::CgroupTree::find()) {
    bool rootless = ::geteuid() != 0;
    if (rootless && !has_all_limits() && enter_user_scope()) groups_ = sys::CgroupTree::find();
  }

  Capabilities capabilities() const override {
    bool groups = groups_.has_value();
    return {.name = "native",
            .pause = groups,
            .update_limits = groups,
            .adopt = true,
            .dial = true,
            .nesting = true,
            .pty = true,
            .review_layer = true};
  }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override;
  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override;

 private:
  bool has_all_limits() const {
    using sys::Controller;
    return groups_ && (*groups_)->has(Controller::Cpu) && (*groups_)->has(Controller::Memory) &&
           (*groups_)->has(Controller::Pids);
  }
  Result<ImageRoot> find_image(const std::string& reference, const IdPlan& ids) const;
  Result<IdPlan> plan_ids(const SandboxSpec& spec) const;
  Means means(LayerKind layer) const;
  Result<SpawnPlan> plan(const SandboxSpec& spec, const Holding& holding) const;
  Result<std::unique_ptr<sys::Cgroup>> make_group(const SandboxSpec& spec);
  void sweep_left_overs();
  std::string socket_path(const SandboxSpec& spec) const { return concat(places_.run_folder, "/", spec.id); }

  Places places_;
  bool shares_ids_;
  Result<std::unique_ptr<sys::CgroupTree>> groups_;
};

Result<ImageRoot> NativeRuntime::find_image(const std::string& reference, const IdPlan& ids) const {
  if (reference != "host" && !reference.starts_with("host@"))
    return fail(Error(Code::NotFound, concat("image '", reference, "' is not known"))
                    .hint("`host`, this machine's own userland, is the image that needs no download"));
  ImageRoot image = COVE_TRY_NOTE("prepare image host", host_image(places_.cache, places_.programs + "/cove-sudo",
                                                                   ids.shared ? ids.builder_id(0) : 0));
  if (reference != "host" && reference != image.reference)
    return fail(Error(Code::NotFound, concat("image '", reference, "' is not what this machine has now"))
                    .hint(concat("the packages have changed; it is ", image.reference, " now")));
  return image;
}

Means NativeRuntime::means(LayerKind layer) const {
  Means means;
  means.layer = layer;
  means.quota = layer == LayerKind::Pool;
  means.nested_ids = ::geteuid() != 0;
  if (!groups_) {
    means.why_not = groups_.error().message();
    means.hint = groups_.error().hint();
    return means;
  }
  means.cpu = (*groups_)->has(sys::Controller::Cpu);
  means.memory = (*groups_)->has(sys::Controller::Memory);
  means.processes = (*groups_)->has(sys::Controller::Pids);
  means.io = (*groups_)->has(sys::Controller::Io);
  means.why_not = (*groups_)->describe();
  return means;
}

Result<IdPlan> NativeRuntime::plan_ids(const SandboxSpec& spec) const {
  if (::geteuid() != 0) return plan_rootless_ids(main_id(spec));
  if (shares_ids_) return plan_shared_ids();
  return plan_root_ids(places_.run_folder);
}

Result<SpawnPlan> NativeRuntime::plan(const SandboxSpec& spec, const Holding& holding) const {
  SpawnPlan plan;
  plan.id = spec.id;
  plan.hostname = spec.name.empty() ? kDefaultHostname : spec.name;
  plan.init_program = places_.programs + "/cove-init";
  plan.ids = COVE_TRY(plan_ids(spec));
  plan.image = COVE_TRY(find_image(spec.image, plan.ids));
  plan.workspace = spec.workspace;
  plan.workspace_owner = main_id(spec);
  plan.shm_bytes = spec.limits.memory.value ? std::max(kDefaultShm, spec.limits.memory.value / 2) : kDefaultShm;
  plan.process_rlimit = holding.process_rlimit;
  plan.watched_memory = holding.watched_memory;
  plan.pinned_cpus = holding.pinned_cpus;
  plan.nesting = spec.nesting;
  plan.ends_with_exec = spec.ends_with_exec;
  plan.lifetime = spec.lifetime;
  return plan;
}

Result<std::unique_ptr<sys::Cgroup>> NativeRuntime::make_group(const SandboxSpec& spec) {
  using sys::Controller;
  if (!groups_) return std::unique_ptr<sys::Cgroup>();
  std::vector<Controller> wanted = {Controller::Cpu, Controller::Memory, Controller::Pids};
  const bool throttled = spec.limits.io_read.value > 0 || spec.limits.io_write.value > 0;
  // On v1 each one is a folder of its own, made, joined and removed.
  if (throttled || (*groups_)->version() == 2) wanted.push_back(Controller::Io);
  if (!spec.single_exec) wanted.push_back(Controller::Freezer);
  std::unique_ptr<sys::Cgroup> group = COVE_TRY((*groups_)->create(group_name(spec), wanted));
  Result<void> limited = set_limits(*group, spec.limits);
  if (!limited) {
    static_cast<void>(group->remove());
    return std::unexpected(limited.error());
  }
  return group;
}

void NativeRuntime::sweep_left_overs() {
  if (!groups_) return;
  Result<std::vector<std::string>> names = (*groups_)->list(std::string(kRunPrefix));
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_left_over(name)) continue;
    Result<std::unique_ptr<sys::Cgroup>> group = (*groups_)->adopt(name);
    if (group) static_cast<void>(sys::destroy(**group));
  }
}

Result<std::unique_ptr<Sandbox>> NativeRuntime::create(const SandboxSpec& wanted) {
  SandboxSpec spec = wanted;
  LayerChoice choice = COVE_TRY(choose_layer_for(spec));
  spec.limits.disk.value = choice.bytes;
  Holding holding = COVE_TRY(plan_enforcement(spec.limits, means(choice.kind), spec.strictness));
  COVE_TRY(check_second_fence(spec, holding.warnings));
  if (!choice.warning.empty()) holding.warnings.push_back(choice.warning);
  SpawnPlan plan = COVE_TRY(this->plan(spec, holding));
  std::unique_ptr<Layer> layer = COVE_TRY(make_layer_for(spec, choice));
  plan.layer = layer->mount();
  sys::SocketPair control = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  NativeSandbox::Parts parts;
  UniqueFd listener;
  if (spec.lifetime == Lifetime::Long) {
    COVE_TRY(sys::make_folders(places_.run_folder, 0700));
    parts.socket_path = socket_path(spec);
    listener = COVE_TRY(sys::listen_unix(parts.socket_path, 4));
    plan.listener = listener.get();
  }
  auto clean_up = [this, &layer, name = group_name(spec)] {
    static_cast<void>(layer->remove());
    if (!groups_) return;
    Result<std::unique_ptr<sys::Cgroup>> group = (*groups_)->adopt(name);
    if (group) static_cast<void>(sys::destroy(**group));
  };
  parts.builder = COVE_TRY(start_builder(plan, control, clean_up));
  parts.control = std::move(control.first);
  // The groups are made while the walls rise.
  Result<std::unique_ptr<sys::Cgroup>> group = make_group(spec);
  if (!group) {
    kill_sandbox(*parts.builder);
    parts.control.reset();
    static_cast<void>(wait_for_end(*parts.builder));
    return fail(std::move(group.error()).note("make the control group"));
  }
  if (spec.lifetime == Lifetime::Long) layer->keep();
  parts.layer = std::move(layer);
  parts.group = std::move(*group);
  parts.spec = std::move(spec);
  parts.holding = std::move(holding);
  parts.id_lock = std::move(plan.ids.lock);
  parts.idle_work = [this] { sweep_left_overs(); };
  return COVE_TRY(NativeSandbox::create(std::move(parts)));
}

Result<std::unique_ptr<Sandbox>> NativeRuntime::adopt(const SandboxSpec& spec) {
  NativeSandbox::Parts parts;
  parts.spec = spec;
  parts.socket_path = socket_path(spec);
  parts.control = COVE_TRY_NOTE(concat("adopt sandbox ", spec.id), sys::connect_unix(parts.socket_path));
  parts.layer = COVE_TRY(find_layer(COVE_TRY(sys::find_folder(sys::kStateFolder)), spec.id));
  if (spec.limits.disk.value == 0) parts.spec.limits.disk.value = kDefaultDisk;
  LayerKind kind = parts.layer->mount().kind;
  parts.holding = COVE_TRY(plan_enforcement(parts.spec.limits, means(kind), spec.strictness));
  if (groups_) parts.group = COVE_TRY((*groups_)->adopt(group_name(spec)));
  std::unique_ptr<NativeSandbox> sandbox = COVE_TRY(NativeSandbox::create(std::move(parts)));
  COVE_TRY(sandbox->take_over());
  return sandbox;
}

}  // namespace

Result<Places> find_places() {
  Places places;
  std::string program = COVE_TRY(sys::readlink("/proc/self/exe"));
  places.programs = program.substr(0, program.rfind('/'));
  places.cache = COVE_TRY(cache_folder());
  places.run_folder = "/run/cove";
  if (::geteuid() != 0) {
    const char* runtime_folder = ::getenv("XDG_RUNTIME_DIR");
    places.run_folder = runtime_folder ? concat(runtime_folder, "/cove") : concat("/tmp/cove-", ::geteuid());
  }
  return places;
}

Result<std::unique_ptr<Runtime>> make_native_runtime(Places places, IdRanges ranges) {
  return std::make_unique<NativeRuntime>(std::move(places), ranges);
}

}  // namespace cove::native
