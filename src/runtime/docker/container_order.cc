#include "runtime/docker/container_order.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "image/catalogue.h"
#include "init/protocol.h"
#include "model/figures.h"
#include "runtime/native/spawn_plan.h"

namespace cove::docker {
namespace {

constexpr uint64_t kDefaultShm = 64 * kMiB;
// The same as root inside has in native sandboxes: src/init/fences.cc.
constexpr const char* kCapabilities[] = {"CHOWN",  "DAC_OVERRIDE", "FOWNER",           "FSETID",     "KILL",   "SETGID",
                                         "SETUID", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT", "SETFCAP"};

std::string mode_letters(const SandboxSpec& spec) {
  std::string mode;
  if (spec.lifetime == Lifetime::OneRun) mode += wire::kModeOneRun;
  if (spec.ends_with_exec) mode += wire::kModeOneExec;
  if (spec.workspace.access == Access::ReadWrite) mode += wire::kModeNoSetId;
  return mode + wire::kModeLandlock;
}

Json bind_mount(const std::string& source, const std::string& target, bool read_only) {
  return {{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", read_only}};
}

Json mounts_of(const ContainerPlan& plan) {
  Json mounts = {bind_mount(plan.programs + "/cove-init", kInitInside, true),
                 bind_mount(plan.handoff, kHandoffInside, true),
                 bind_mount(plan.programs + "/cove-sudo", kSudoInside, true),
                 bind_mount(plan.programs + "/python", kFiguresFolder, true)};
  const Workspace& workspace = plan.spec.workspace;
  if (workspace.access != Access::None)
    mounts.push_back(bind_mount(workspace.path, kWorkspacePath, workspace.access == Access::ReadOnly));
  return mounts;
}

uint64_t shared_memory(const Limits& limits) { return std::max(kDefaultShm, limits.memory.value / 2); }

void put_memory(Json& order, const Limits& limits) {
  const uint64_t bytes = limits.memory.value;
  if (bytes == 0) return;
  order["Memory"] = bytes;
  order["MemorySwap"] = bytes + limits.swap.value;  // both together
}

void put_cpus(Json& order, double cpus) {
  if (cpus > 0) order["NanoCpus"] = static_cast<int64_t>(std::llround(cpus * 1e9));
}

void put_processes(Json& order, uint64_t count) {
  if (count > 0) order["PidsLimit"] = count;
}

void put_limits(Json& host, const ContainerPlan& plan) {
  if (plan.disk > 0) host["StorageOpt"] = {{"size", concat(plan.disk)}};
  host["PidsLimit"] = -1;  // instead of the engine's default
  if (plan.holder == Holder::OwnGroup) return;
  const Limits& limits = plan.spec.limits;
  if (plan.engine.limits_memory) put_memory(host, limits);
  if (plan.engine.limits_cpus) put_cpus(host, limits.cpus.value);
  if (plan.engine.limits_processes) put_processes(host, limits.processes.value);
}

Json host_config(const ContainerPlan& plan) {
  Json host = {{"AutoRemove", plan.spec.lifetime == Lifetime::OneRun},
               {"NetworkMode", "none"},
               {"IpcMode", "private"},
               {"CgroupnsMode", "private"},
               {"Privileged", false},
               {"CapDrop", {"ALL"}},
               {"CapAdd", kCapabilities},
               {"SecurityOpt", {"no-new-privileges"}},
               {"RestartPolicy", {{"Name", "no"}}},
               {"LogConfig", {{"Type", "none"}}},
               {"ShmSize", shared_memory(plan.spec.limits)},
               {"Tmpfs", {{"/tmp", concat("rw,exec,nosuid,nodev,mode=1777,size=", shared_memory(plan.spec.limits))}}},
               {"Mounts", mounts_of(plan)}};
  if (plan.maps_users) host["UsernsMode"] = "auto:size=65536";
  put_limits(host, plan);
  return host;
}

std::unexpected<Error> cannot(std::string what, std::string instead) {
  return fail(Error(Code::Unsupported, concat("the docker runtime cannot ", what)).hint(std::move(instead)));
}

}  // namespace

std::string container_name(const std::string& sandbox_id) { return concat("cove-", sandbox_id); }

Json container_order(const ContainerPlan& plan) {
  const SandboxSpec& spec = plan.spec;
  Json labels = {{kSandboxLabel, spec.id}, {kStateLabel, plan.state}};
  if (plan.disk > 0) labels[kDiskLabel] = concat(plan.disk);
  return {{"Image", spec.image},
          {"Hostname", spec.name.empty() ? native::kDefaultHostname : spec.name},
          {"User", "0:0"},
          {"WorkingDir", "/"},
          {"Env", Json::array()},
          {"Entrypoint", {kInitInside, COVE_VERSION, mode_letters(spec), kHandoffInside}},
          {"Cmd", Json::array()},
          {"Tty", false},
          {"OpenStdin", false},
          {"StopSignal", "SIGKILL"},
          {"Healthcheck", {{"Test", {"NONE"}}}},
          {"Labels", std::move(labels)},
          {"HostConfig", host_config(plan)}};
}

Json limits_order(const Limits& limits) {
  Json order = Json::object();
  if (limits.memory.named || limits.swap.named) put_memory(order, limits);
  if (limits.cpus.named) put_cpus(order, limits.cpus.value);
  if (limits.processes.named) put_processes(order, limits.processes.value);
  return order;
}

native::Means means_of(const EngineFacts& facts) {
  native::Means means;
  means.cpu = facts.limits_cpus;
  means.memory = facts.limits_memory;
  means.swap = facts.limits_swap;
  means.processes = facts.limits_processes;
  means.layer = LayerKind::Folder;
  means.why_not = "the engine reports no support for this limit";
  means.hint = facts.rootless ? "a rootless engine needs cgroup v2 with the controllers delegated to its user"
                              : "enable the cpu, memory and pids controllers on the engine's machine";
  return means;
}

Result<void> hold_disk(native::Holding& holding, const SandboxSpec& spec, bool by_engine) {
  const Limit<uint64_t>& disk = spec.limits.disk;
  holding.limits.erase("disk");
  if (by_engine) {
    holding.limits["disk"] = {format_bytes(disk.value), "quota"};
    return {};
  }
  if (disk.named || spec.strictness == Strictness::Strict)
    return fail(Error(Code::Unsupported, concat("limit disk to ", format_bytes(disk.value),
                                                ": the engine's storage driver cannot limit a container's size"))
                    .hint("put its storage on btrfs, zfs, or xfs mounted with pquota, or use another runtime"));
  holding.warnings.push_back("the disk is not limited: the engine's storage driver cannot limit a container's size");
  return {};
}

Result<std::vector<std::string>> engine_warnings(const EngineFacts& facts, bool maps_users, Strictness strictness) {
  std::vector<std::string> warnings;
  if (std::string old = age_warning(facts); !old.empty()) warnings.push_back(std::move(old));
  if (facts.maps_users || maps_users) return warnings;
  std::string hint = facts.kind == EngineKind::Podman
                         ? "give the user `containers` a range in /etc/subuid and /etc/subgid, or use a rootless Podman"
                         : "set userns-remap in /etc/docker/daemon.json, or use a rootless Docker";
  if (strictness == Strictness::Strict)
    return fail(
        Error(Code::Unsupported, "map root inside to an unprivileged user: the engine maps no user ids").hint(hint));
  warnings.push_back(
      concat("root inside is root on the machine, with few capabilities: the engine maps no user ids (", hint, ")"));
  return warnings;
}

Result<void> check_spec(const SandboxSpec& spec) {
  if (is_host_image(spec.image))
    return fail(Error(Code::Invalid, concat("the runtime ", spec.runtime.empty() ? "docker" : spec.runtime,
                                            " has no image 'host': its images come from the engine"))
                    .hint("name one with --image; `docker images` or `podman images` lists them"));
  if (spec.nesting)
    return cannot("allow nesting: the engine's own seccomp filter forbids it", "use the native runtime");
  if (spec.workspace.access == Access::Review)
    return cannot("mount a workspace with access review", "use --runtime native, or access ro or rw");
  if (spec.limits.io_read.value > 0 || spec.limits.io_write.value > 0)
    return cannot("limit disk traffic", "use --runtime native");
  return {};
}

}  // namespace cove::docker
