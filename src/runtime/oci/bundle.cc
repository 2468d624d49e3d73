#include "runtime/oci/bundle.h"

#include "base/json.h"
#include "base/text.h"
#include "init/protocol.h"
#include "runtime/native/proc_masks.h"
#include "runtime/native/process_one.h"
#include "runtime/native/root_mounts.h"

namespace cove::oci {
namespace {

// All capabilities: process 1 has more of them than the user's programs, which therefore cannot trace it. It drops what
// programs must not have before it starts the first one.
constexpr const char* kCapabilities[] = {"CAP_CHOWN",
                                         "CAP_DAC_OVERRIDE",
                                         "CAP_DAC_READ_SEARCH",
                                         "CAP_FOWNER",
                                         "CAP_FSETID",
                                         "CAP_KILL",
                                         "CAP_SETGID",
                                         "CAP_SETUID",
                                         "CAP_SETPCAP",
                                         "CAP_LINUX_IMMUTABLE",
                                         "CAP_NET_BIND_SERVICE",
                                         "CAP_NET_BROADCAST",
                                         "CAP_NET_ADMIN",
                                         "CAP_NET_RAW",
                                         "CAP_IPC_LOCK",
                                         "CAP_IPC_OWNER",
                                         "CAP_SYS_MODULE",
                                         "CAP_SYS_RAWIO",
                                         "CAP_SYS_CHROOT",
                                         "CAP_SYS_PTRACE",
                                         "CAP_SYS_PACCT",
                                         "CAP_SYS_ADMIN",
                                         "CAP_SYS_BOOT",
                                         "CAP_SYS_NICE",
                                         "CAP_SYS_RESOURCE",
                                         "CAP_SYS_TIME",
                                         "CAP_SYS_TTY_CONFIG",
                                         "CAP_MKNOD",
                                         "CAP_LEASE",
                                         "CAP_AUDIT_WRITE",
                                         "CAP_AUDIT_CONTROL",
                                         "CAP_SETFCAP",
                                         "CAP_MAC_OVERRIDE",
                                         "CAP_MAC_ADMIN",
                                         "CAP_SYSLOG",
                                         "CAP_WAKE_ALARM",
                                         "CAP_BLOCK_SUSPEND",
                                         "CAP_AUDIT_READ"};

constexpr const char* kNamespaces[] = {"pid", "network", "ipc", "uts", "mount", "user", "cgroup"};

Json mapping(const sys::IdMap& map) {
  Json list = Json::array();
  for (const sys::IdMapEntry& entry : map)
    list.push_back({{"containerID", entry.inside}, {"hostID", entry.outside}, {"size", entry.count}});
  return list;
}

Json process(const native::SpawnPlan& plan) {
  Json all = kCapabilities;
  Json capabilities = {{"bounding", all}, {"effective", all}, {"permitted", all}};
  // With only one id, which may not be root's, this keeps the capabilities over the exec.
  if (plan.ids.single_id) capabilities["inheritable"] = capabilities["ambient"] = all;
  uint32_t id = plan.ids.single_id ? plan.ids.users.front().inside : 0;
  return {{"terminal", false},
          {"user", {{"uid", id}, {"gid", id}}},
          {"args", {concat("/proc/self/fd/", kProgramFd), COVE_VERSION, native::init_mode(plan)}},
          {"env", Json::array()},
          {"cwd", "/"},
          {"capabilities", std::move(capabilities)},
          {"noNewPrivileges", true}};
}

// The staged root contains everything else, including /dev with its devices. /dev is listed so that the runtime does
// not create its own, and with the mounts below it, which crun leaves out.
Json mounts(const native::SpawnPlan& plan) {
  Json list = Json::array(
      {{{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}, {"options", {"nosuid", "noexec", "nodev"}}}});
  if (plan.memory > 0)
    list.push_back({{"destination", "/proc/meminfo"},
                    {"type", "bind"},
                    {"source", native::kMeminfo},
                    {"options", {"bind", "ro", "nosuid", "noexec", "nodev"}}});
  for (const char* path : {"/dev", "/dev/pts", "/dev/shm", "/sys"})
    list.push_back({{"destination", path},
                    {"type", "bind"},
                    {"source", concat(std::string_view(native::kStagedRoot), std::string_view(path))},
                    {"options", {"rbind"}}});
  return list;
}

// Allows the devices of /dev and terminals; no other device can be opened.
Json device_rules() {
  struct Device {
    int major;
    int minor;  // -1: all
  };
  constexpr Device kAllowed[] = {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}, {136, -1}};
  Json rules = Json::array({{{"allow", false}, {"access", "rwm"}}});
  for (const Device& device : kAllowed) {
    Json rule = {{"allow", true}, {"type", "c"}, {"major", device.major}, {"access", "rw"}};
    if (device.minor >= 0) rule["minor"] = device.minor;
    rules.push_back(std::move(rule));
  }
  return rules;
}

Json linux_part(const native::SpawnPlan& plan, const std::string& user_namespace) {
  Json masked = Json::array(), read_only = Json::array(), namespaces = Json::array();
  for (const char* name : native::kMaskedProcFiles) masked.push_back(concat("/proc/", std::string_view(name)));
  for (const char* name : native::kMaskedProcFolders) masked.push_back(concat("/proc/", std::string_view(name)));
  for (const char* name : native::kReadOnlyProc) read_only.push_back(concat("/proc/", std::string_view(name)));
  for (const char* name : kNamespaces) {
    namespaces.push_back({{"type", name}});
    if (!user_namespace.empty() && std::string_view(name) == "user") namespaces.back()["path"] = user_namespace;
  }
  Json part = {{"namespaces", std::move(namespaces)},
               {"uidMappings", mapping(plan.ids.users)},
               {"gidMappings", mapping(plan.ids.groups)},
               {"maskedPaths", std::move(masked)},
               {"readonlyPaths", std::move(read_only)}};
  // Cove's own groups contain the programs and enforce the limits; the runtime's group contains process 1.
  if (!plan.oci->group.empty()) part["cgroupsPath"] = "/" + plan.oci->group;
  part["resources"] = {{"devices", device_rules()}};
  return part;
}

Json bind_mount(const std::string& source, const std::string& destination, const char* access) {
  return {{"destination", destination}, {"type", "bind"}, {"source", source}, {"options", {"rbind", access}}};
}

// With a writable workspace, set-id files cannot be created.
std::string inner_mode(const native::SpawnPlan& plan) {
  std::string mode = {wire::kModeOneRun, wire::kModeInner};
  if (plan.workspace.access == Access::ReadWrite) mode += wire::kModeNoSetId;
  return mode;
}

}  // namespace

std::string kernel_config(const native::SpawnPlan& plan) {
  Json first = process(plan);
  first["args"] = {concat(std::string_view(kInitFolder), "/cove-init"), COVE_VERSION, inner_mode(plan),
                   std::to_string(plan.oci->processes), std::to_string(plan.oci->memory)};
  Json namespaces = Json::array();
  for (const char* name : {"pid", "network", "ipc", "uts", "mount", "user"}) namespaces.push_back({{"type", name}});
  // With a network it stays in the namespace that it is started in.
  if (plan.oci->network) namespaces[1]["path"] = "/proc/self/ns/net";
  // /tmp is listed because gVisor would mount its own file system over an empty one; /dev/shm because gVisor's is only
  // accessible to root.
  Json mounts = {{{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}},
                 {{"destination", "/dev/shm"},
                  {"type", "tmpfs"},
                  {"source", "tmpfs"},
                  {"options", {"nosuid", "nodev", "noexec", "mode=1777", concat("size=", plan.shm_bytes)}}},
                 bind_mount(kInitSource, kInitFolder, "ro"),
                 bind_mount(kTmpSource, "/tmp", "rw")};
  Json config = {{"ociVersion", "1.0.2"},
                 {"root", {{"path", native::kStagedRoot}, {"readonly", false}}},
                 {"hostname", plan.hostname},
                 {"process", std::move(first)},
                 {"mounts", std::move(mounts)},
                 {"linux",
                  {{"namespaces", std::move(namespaces)},
                   {"uidMappings", mapping(plan.ids.users)},
                   {"gidMappings", mapping(plan.ids.groups)}}}};
  return config.dump(1);
}

std::string bundle_config(const native::SpawnPlan& plan, const std::string& user_namespace) {
  Json config = {{"ociVersion", "1.0.2"},     {"root", {{"path", native::kStagedRoot}, {"readonly", false}}},
                 {"hostname", plan.hostname}, {"process", process(plan)},
                 {"mounts", mounts(plan)},    {"linux", linux_part(plan, user_namespace)}};
  return config.dump(1);
}

}  // namespace cove::oci
