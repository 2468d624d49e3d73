#include "runtime/docker/engine_factory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"
#include "runtime/docker/engine_resources.h"
#include "runtime/docker/engine_socket.h"
#include "runtime/docker/handoff.h"
#include "runtime/native/holding_codec.h"
#include "runtime/native/own_folders.h"
#include "runtime/native/process_one_identity.h"
#include "sys/file.h"

namespace cove::docker {
namespace {

constexpr const char* kGroup = "cove";  // below the container's control group
constexpr std::string_view kHandoffEnding = ".door";

// Podman allocates id ranges for containers from those of this user.
bool podman_has_id_ranges() {
  constexpr int64_t kRange = 65536;
  for (const char* path : {"/etc/subuid", "/etc/subgid"}) {
    bool found = false;
    for (const std::string& line : split(sys::read_file(path, 1 << 20).value_or(""), '\n')) {
      std::vector<std::string> fields = split(line, ':');
      found = found || (fields.size() == 3 && fields[0] == "containers" && parse_integer(fields[2], kRange, INT64_MAX));
    }
    if (!found) return false;
  }
  return true;
}

// The files of a workspace would have unmapped owners there.
bool takes_id_range(const EngineFacts& facts, const SandboxSpec& spec) {
  return facts.kind == EngineKind::Podman && !facts.rootless && spec.workspace.access == Access::None &&
         podman_has_id_ranges();
}

Holder holder_of(const EngineFacts& facts) {
  const bool limits = facts.limits_cpus && facts.limits_memory && facts.limits_processes;
  const bool may = ::geteuid() == 0 || (facts.rootless && facts.cgroup_version == 2);
  return limits && may ? Holder::OwnGroup : Holder::Engine;
}

bool is_about_size(const Error& error) {
  std::string message = error.message();
  std::ranges::transform(message, message.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::ranges::any_of(std::array{"storage-opt", "storage opt", "quota", "size"},
                             [&](const char* word) { return message.find(word) != message.npos; });
}

Result<pid_t> pid_of(int pidfd) {
  std::string info = COVE_TRY(sys::read_file(concat("/proc/self/fdinfo/", pidfd)));
  for (const std::string& line : split(info, '\n'))
    if (line.starts_with("Pid:"))
      return static_cast<pid_t>(COVE_TRY(parse_integer(trim(line.substr(4)), 1, INT32_MAX)));
  return fail(Code::Unavailable, "process 1 is gone");
}

Result<void> set_limits(sys::Cgroup& group, const Limits& limits) {
  if (limits.cpus.value > 0) COVE_TRY(group.set_cpus(limits.cpus.value));
  if (limits.memory.value > 0) COVE_TRY(group.set_memory(limits.memory.value, native::swap_for(group, limits)));
  if (limits.processes.value > 0) COVE_TRY(group.set_pids(limits.processes.value));
  return {};
}

// Process 1 stays outside it: it must keep running when the sandbox is at its limits or frozen.
Result<std::unique_ptr<sys::Cgroup>> make_group(const SandboxSpec& spec, int process_1) {
  using sys::Controller;
  std::unique_ptr<sys::CgroupTree> tree = COVE_TRY(sys::CgroupTree::find_around(COVE_TRY(pid_of(process_1))));
  std::unique_ptr<sys::Cgroup> group =
      COVE_TRY(tree->create(kGroup, {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer}));
  COVE_TRY(set_limits(*group, spec.limits));
  return group;
}

}  // namespace

void encode(wire::Writer& out, const BuiltContainer& built) {
  native::encode(out, built.holding);
  const EngineFacts& engine = built.engine;
  out.text(engine.identity).number(static_cast<uint64_t>(engine.kind)).text(engine.version);
  out.number(static_cast<uint64_t>(engine.cgroup_version));
  for (bool flag : {built.own_group, built.sized, engine.rootless, engine.maps_users, engine.limits_cpus,
                    engine.limits_memory, engine.limits_swap, engine.limits_processes})
    out.number(flag ? 1 : 0);
}

BuiltContainer decode_built_container(wire::Reader& in) {
  BuiltContainer built;
  built.holding = native::decode_holding(in);
  EngineFacts& engine = built.engine;
  engine.identity = in.text();
  engine.kind = in.number() == static_cast<uint64_t>(EngineKind::Podman) ? EngineKind::Podman : EngineKind::Docker;
  engine.version = in.text();
  engine.cgroup_version = in.number() == 2 ? 2 : 1;
  for (bool* flag : {&built.own_group, &built.sized, &engine.rootless, &engine.maps_users, &engine.limits_cpus,
                     &engine.limits_memory, &engine.limits_swap, &engine.limits_processes})
    *flag = in.number() != 0;
  return built;
}

Result<PendingContainer> EngineFactory::prepare(const SandboxSpec& spec) const {
  COVE_TRY(check_spec(spec));
  PendingContainer pending;
  pending.spec = spec;
  if (pending.spec.limits.disk.value == 0) pending.spec.limits.disk.value = kDefaultDisk;
  pending.control = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  COVE_TRY(native::make_run_folders(places_));
  pending.handoff_path = concat(places_.run_folder, "/", spec.id, kHandoffEnding);
  ::unlink(pending.handoff_path.c_str());
  pending.handoff = COVE_TRY(sys::listen_unix(pending.handoff_path, 1));
  // Root inside may be another user outside, and must be able to connect.
  if (::chmod(pending.handoff_path.c_str(), 0666) < 0) return fail_errno(concat("chmod ", pending.handoff_path));
  if (spec.lifetime == Lifetime::OneRun) return pending;
  pending.socket_path = concat(places_.run_folder, "/", spec.id);
  ::unlink(pending.socket_path.c_str());
  pending.listener = COVE_TRY(sys::listen_unix(pending.socket_path, 4));
  return pending;
}

// One sandbox under construction.
struct EngineFactory::Construction {
  const EngineFactory& factory;
  const PendingContainer& pending;
  Engine engine;
  ContainerPlan plan;
  BuiltContainer built = {};

  const SandboxSpec& spec() const { return pending.spec; }

  // How its limits will be enforced, except for the disk limit, which is up to the engine.
  Result<void> hold() {
    built.holding = COVE_TRY(native::plan_enforcement(spec().limits, means_of(plan.engine), spec().strictness));
    std::vector<std::string> warnings = COVE_TRY(engine_warnings(plan.engine, plan.maps_users, spec().strictness));
    built.holding.warnings.insert(built.holding.warnings.end(), warnings.begin(), warnings.end());
    built.own_group = plan.holder == Holder::OwnGroup;
    built.engine = plan.engine;
    return {};
  }

  Result<std::string> create() {
    const std::string name = container_name(spec().id);
    if (factory.sizes_ || spec().limits.disk.named) {
      plan.disk = spec().limits.disk.value;
      Result<std::string> sized = engine.create(name, container_order(plan));
      built.sized = sized.has_value();
      if (sized || !is_about_size(sized.error())) return sized;
      plan.disk = 0;
      native::Holding refused;
      COVE_TRY(hold_disk(refused, spec(), false));
    }
    return engine.create(name, container_order(plan));
  }

  // The error for a missing image says how to pull it.
  Result<std::string> explain(Result<std::string> created) {
    if (created || created.error().code() != Code::NotFound) return created;
    COVE_TRY(engine.image(spec().image, plan.engine));
    return created;
  }

  Result<std::string> find_again() {
    OwnContainers own(factory.state_);
    OwnContainers::Found found = COVE_TRY(own.find(spec().id));
    engine = std::move(found.engine);
    built.sized = found.sized;
    COVE_TRY(engine.stop(found.id));  // its process 1 does not respond, if it is running at all
    Limits limits = spec().limits;
    limits.cpus.named = limits.memory.named = limits.processes.named = true;
    if (plan.holder == Holder::Engine) static_cast<void>(engine.update(found.id, limits_order(limits)));
    return found.id;
  }

  Result<void> start(const std::string& container) {
    COVE_TRY(engine.start(container));
    SecondFence fence = COVE_TRY(hand_over_descriptors(pending, engine, container));
    if (fence == SecondFence::Up) return {};
    if (spec().strictness == Strictness::Strict)
      return fail(Error(Code::Unsupported, "enable Landlock: it is not available in the engine's containers")
                      .hint("use a newer engine, or a kernel with Landlock"));
    built.holding.warnings.push_back("Landlock is not available in the engine's containers");
    return {};
  }

  Result<void> settle(const std::string& container) {
    COVE_TRY(hold_disk(built.holding, spec(), built.sized));
    return start(container);
  }

  Result<BuiltContainer> run() {
    COVE_TRY(hold());
    std::string container = COVE_TRY(spec().restarted ? find_again() : explain(create()));
    Result<void> started = settle(container);
    if (started) return std::move(built);
    static_cast<void>(spec().restarted ? engine.stop(container) : engine.remove(container));
    return std::unexpected(started.error());
  }
};

Result<BuiltContainer> EngineFactory::build(const PendingContainer& pending) const {
  Result<BuiltContainer> built = build_in_engine(pending);
  ::unlink(pending.handoff_path.c_str());
  if (!built && !pending.socket_path.empty()) ::unlink(pending.socket_path.c_str());
  return built;
}

Result<EngineFacts> EngineFactory::facts_of(const Engine& engine) const {
  if (!known_.identity.empty() && COVE_TRY(engine.identity()) == known_.identity) return known_;
  return engine.facts();
}

// The engine cannot hide anything in a folder that it mounts.
Result<void> EngineFactory::check_own_folders(const Workspace& workspace) const {
  if (workspace.access == Access::None) return {};
  UniqueFd folder = workspace.mount >= 0 ? COVE_TRY(sys::dup(workspace.mount))
                                         : COVE_TRY(sys::open(workspace.path, O_PATH | O_DIRECTORY));
  auto own = COVE_TRY(native::OwnFolders::look(COVE_TRY(native::own_folders(places_))));
  return own.check(folder.get(), {.path = workspace.path, .access = Access::ReadWrite});
}

Result<BuiltContainer> EngineFactory::build_in_engine(const PendingContainer& pending) const {
  COVE_TRY(check_own_folders(pending.spec.workspace));
  Engine engine(COVE_TRY(find_engine_socket(pending.spec.runtime)));
  ContainerPlan plan{
      .spec = pending.spec, .state = state_, .programs = places_.programs, .handoff = pending.handoff_path};
  plan.engine = COVE_TRY(facts_of(engine));
  COVE_TRY(check_kind(plan.engine, pending.spec.runtime, engine.socket()));
  COVE_TRY_NOTE("record the engine", OwnContainers(state_).note_engine(engine.socket()));
  plan.holder = holder_of(plan.engine);
  plan.maps_users = takes_id_range(plan.engine, pending.spec);
  return Construction{*this, pending, std::move(engine), std::move(plan)}.run();
}

Result<std::unique_ptr<native::LocalResources>> EngineFactory::resources_of(const SandboxSpec& spec, UniqueFd process_1,
                                                                            std::unique_ptr<sys::Cgroup> group) const {
  native::LocalResources::Parts parts;
  parts.spec = spec;
  parts.spec.lifetime = Lifetime::Long;  // the holder of the sandbox ends it
  parts.process_1 = std::move(process_1);
  if (spec.lifetime == Lifetime::Long) parts.socket_path = concat(places_.run_folder, "/", spec.id);
  parts.group = std::move(group);
  return std::make_unique<EngineResources>(std::move(parts), OwnContainers(state_));
}

Result<native::CreatedSandbox> EngineFactory::finish(PendingContainer pending, BuiltContainer built) {
  sizes_ = built.sized;
  known_ = built.engine;
  pending.control.second.reset();
  native::CreatedSandbox created;
  created.spec = std::move(pending.spec);
  created.control = std::move(pending.control.first);
  created.holding = std::move(built.holding);
  Result<UniqueFd> process_1 = native::ask_identity(created.control.get());
  Result<std::unique_ptr<sys::Cgroup>> group = std::unique_ptr<sys::Cgroup>();
  if (process_1 && built.own_group) group = make_group(created.spec, process_1->get());
  if (process_1 && group) {
    created.resources = COVE_TRY(resources_of(created.spec, std::move(*process_1), std::move(*group)));
    return created;
  }
  if (process_1) static_cast<void>(sys::kill_by_pidfd(process_1->get(), SIGKILL));
  return fail(process_1 ? std::move(group.error()).note("create a control group in the container's")
                        : process_1.error());
}

Result<native::CreatedSandbox> EngineFactory::create(const SandboxSpec& spec) {
  PendingContainer pending = COVE_TRY(prepare(spec));
  BuiltContainer built = COVE_TRY(build(pending));
  return finish(std::move(pending), std::move(built));
}

Result<native::CreatedSandbox> EngineFactory::adopt(const SandboxSpec& spec) const {
  native::CreatedSandbox created;
  created.spec = spec;
  std::string attempt = concat("adopt sandbox ", spec.id);
  created.control = COVE_TRY_NOTE(attempt, native::connect_to_process_one(concat(places_.run_folder, "/", spec.id)));
  UniqueFd process_1 = COVE_TRY_NOTE(attempt, native::ask_identity(created.control.get()));
  std::unique_ptr<sys::CgroupTree> tree =
      COVE_TRY_NOTE(attempt, sys::CgroupTree::find_around(COVE_TRY(pid_of(process_1.get()))));
  Result<std::unique_ptr<sys::Cgroup>> group = tree->adopt(kGroup);
  EngineFacts facts;
  facts.limits_cpus = facts.limits_memory = facts.limits_swap = facts.limits_processes = true;
  created.holding = COVE_TRY(native::plan_enforcement(spec.limits, means_of(facts), spec.strictness));
  created.holding.limits.erase("disk");
  created.resources = COVE_TRY(resources_of(spec, std::move(process_1), group ? std::move(*group) : nullptr));
  return created;
}

Result<void> EngineFactory::remove_files(const std::string& id) const { return OwnContainers(state_).remove(id); }

Result<void> EngineFactory::sweep(const std::vector<std::string>& known) const {
  if (sys::exists(places_.run_folder))
    for (const std::string& name : COVE_TRY(sys::list_folder(places_.run_folder)))
      if (name.ends_with(kHandoffEnding)) ::unlink(concat(places_.run_folder, "/", name).c_str());
  return OwnContainers(state_).remove_others(known);
}

bool EngineFactory::used() const { return OwnContainers(state_).has_engines(); }

Result<ImageConfig> EngineFactory::image(const std::string& runtime, const std::string& name) const {
  Engine engine(COVE_TRY(find_engine_socket(runtime)));
  EngineFacts facts = COVE_TRY(facts_of(engine));
  COVE_TRY(check_kind(facts, runtime, engine.socket()));
  return engine.image(name, facts);
}

}  // namespace cove::docker
