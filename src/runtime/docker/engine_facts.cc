#include "runtime/docker/engine_facts.h"

#include "base/text.h"

namespace cove::docker {
namespace {

constexpr int64_t kOldestDocker = 24;
constexpr int64_t kOldestPodman = 4;

std::string podman_version(const Json& version) {
  for (const Json& part : client::field(version, "Components"))
    if (client::text_of(part, "Name").starts_with("Podman")) return client::text_of(part, "Version");
  return {};
}

std::vector<std::string> words_of(const Json& json) {
  std::vector<std::string> words;
  for (const Json& word : json)
    if (word.is_string()) words.push_back(word.as_string());
  return words;
}

bool has_security_option(const Json& info, const std::string& name) {
  for (const std::string& option : words_of(client::field(info, "SecurityOptions")))
    if (option == name || option.starts_with(name + ",")) return true;
  return false;
}

}  // namespace

Result<EngineFacts> read_engine_facts(const Json& version, const Json& info) {
  EngineFacts facts;
  std::string podman = podman_version(version);
  facts.kind = podman.empty() ? EngineKind::Docker : EngineKind::Podman;
  facts.version = podman.empty() ? client::text_of(version, "Version") : podman;
  if (facts.version.empty()) return fail(Code::Internal, "the engine reports no version");
  facts.rootless = has_security_option(info, "name=rootless");
  facts.maps_users = facts.rootless || has_security_option(info, "name=userns");
  facts.cgroup_version = client::text_of(info, "CgroupVersion") == "2" ? 2 : 1;
  // On v1 a rootless engine has no control groups, whatever it reports.
  const bool groups = !facts.rootless || facts.cgroup_version == 2;
  facts.limits_cpus = groups && client::flag_of(info, "CpuCfsQuota");
  facts.limits_memory = groups && client::flag_of(info, "MemoryLimit");
  facts.limits_swap = groups && client::flag_of(info, "SwapLimit");
  facts.limits_processes = groups && client::flag_of(info, "PidsLimit");
  return facts;
}

std::string age_warning(const EngineFacts& facts) {
  const int64_t oldest = facts.kind == EngineKind::Podman ? kOldestPodman : kOldestDocker;
  std::string number = split(facts.version, '.')[0];
  Result<int64_t> major = parse_integer(number.starts_with('v') ? number.substr(1) : number, 0, 1'000'000);
  if (!major || *major >= oldest) return {};
  return concat("the engine is ", std::string_view(facts.title()), " ", facts.version, "; Cove supports ", oldest,
                " and later");
}

Result<void> check_kind(const EngineFacts& facts, const std::string& runtime, const std::string& socket) {
  if (runtime != "podman" || facts.kind == EngineKind::Podman) return {};
  return fail(Error(Code::Unavailable,
                    concat("the engine at ", socket, " is ", std::string_view(facts.title()), ", not Podman"))
                  .hint("set CONTAINER_HOST to Podman's socket, or use --runtime docker"));
}

ImageConfig read_image_config(const Json& image) {
  const Json& said = client::field(image, "Config");
  ImageConfig config;
  for (const std::string& entry : words_of(client::field(said, "Env"))) {
    size_t equals = entry.find('=');
    if (equals != entry.npos) config.env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  config.entrypoint = words_of(client::field(said, "Entrypoint"));
  config.cmd = words_of(client::field(said, "Cmd"));
  config.cwd = client::text_of(said, "WorkingDir");
  config.user = client::text_of(said, "User");
  return config;
}

}  // namespace cove::docker
