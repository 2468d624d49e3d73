#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/json.h"
#include "image/manifest.h"

// What an engine says of itself and of its images, as values.
namespace cove::docker {

enum class EngineKind { Docker, Podman };

struct EngineFacts {
  std::string identity;  // of the engine that said it: socket, kind and version
  EngineKind kind = EngineKind::Docker;
  std::string version;      // "24.0.5"
  bool rootless = false;    // it is an ordinary user's
  bool maps_users = false;  // root in its containers is nobody outside
  int cgroup_version = 0;
  bool limits_cpus = false;
  bool limits_memory = false;
  bool limits_swap = false;
  bool limits_processes = false;

  const char* program() const { return kind == EngineKind::Podman ? "podman" : "docker"; }
  const char* title() const { return kind == EngineKind::Podman ? "Podman" : "Docker"; }
};

// From the answers to /version and /info.
Result<EngineFacts> read_engine_facts(const Json& version, const Json& info);

// Older ones are used; the warning says from which version on it is known to work. Empty: new enough.
std::string age_warning(const EngineFacts& facts);

// What `--runtime podman` asks for is a Podman.
Result<void> check_kind(const EngineFacts& facts, const std::string& runtime, const std::string& socket);

// What an image says about how its programs are run.
ImageConfig read_image_config(const Json& image);

}  // namespace cove::docker
