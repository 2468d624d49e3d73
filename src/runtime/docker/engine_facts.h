#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/json.h"
#include "image/manifest.h"

// What an engine reports about itself and its images, as values.
namespace cove::docker {

enum class EngineKind { Docker, Podman };

struct EngineFacts {
  std::string identity;  // of the engine: socket, kind and version
  EngineKind kind = EngineKind::Docker;
  std::string version;      // "24.0.5"
  bool rootless = false;    // it runs as an ordinary user
  bool maps_users = false;  // root in its containers is an unprivileged user outside
  int cgroup_version = 0;
  bool limits_cpus = false;
  bool limits_memory = false;
  bool limits_swap = false;
  bool limits_processes = false;

  const char* program() const { return kind == EngineKind::Podman ? "podman" : "docker"; }
  const char* title() const { return kind == EngineKind::Podman ? "Podman" : "Docker"; }
};

// From the responses to /version and /info.
Result<EngineFacts> read_engine_facts(const Json& version, const Json& info);

// Older engines are used anyway; the warning names the first supported version. Empty: new enough.
std::string age_warning(const EngineFacts& facts);

// Fails if `--runtime podman` was asked for and the engine is not Podman.
Result<void> check_kind(const EngineFacts& facts, const std::string& runtime, const std::string& socket);

// How an image's programs are run.
ImageConfig read_image_config(const Json& image);

}  // namespace cove::docker
