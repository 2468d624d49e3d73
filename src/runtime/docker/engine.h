#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/json.h"
#include "runtime/docker/engine_facts.h"

namespace cove::docker {

// A container as the engine lists it.
struct Container {
  std::string id;
  std::string sandbox;  // the label
  bool sized = false;   // the engine enforces its disk limit
};

// A Docker or Podman engine on this machine, called over its Unix socket. Calls block, and each uses its own
// connection. A response with status 400 or above is an Error with the engine's message.
class Engine {
 public:
  // `patience`: how long to wait for a busy engine.
  explicit Engine(std::string socket, std::chrono::seconds patience = std::chrono::seconds(120))
      : socket_(std::move(socket)), patience_(patience) {}

  const std::string& socket() const { return socket_; }

  // Identifies the engine by the response to /_ping.
  Result<std::string> identity() const;
  // Podman takes some tenths of a second.
  Result<EngineFacts> facts() const;
  // NotFound, with how to pull it, if the engine does not have it.
  Result<ImageConfig> image(const std::string& name, const EngineFacts& facts) const;

  // Returns its id.
  Result<std::string> create(const std::string& name, const Json& order) const;
  Result<void> start(const std::string& id) const;
  Result<void> update(const std::string& id, const Json& order) const;
  // Whether it is running; if not, a description of how it ended.
  struct State {
    bool running = false;
    std::string ended;
  };
  Result<State> state(const std::string& id) const;
  // The containers with all of these labels ("name=value"), running or not.
  Result<std::vector<Container>> list(const std::vector<std::string>& labels) const;
  // Kills it; returns when the engine reports it as ended.
  Result<void> stop(const std::string& id) const;
  // Removes it and its files, running or not; returns when it is gone. Succeeds if it does not exist.
  Result<void> remove(const std::string& id) const;

 private:
  struct Answer {
    int status = 0;
    std::string server;  // the header
    std::string body;
  };
  Result<Answer> exchange(const std::string& method, const std::string& target, const std::optional<Json>& body) const;
  Result<Json> ask(const std::string& method, const std::string& target, const std::optional<Json>& body = {}) const;

  std::string socket_;
  std::chrono::seconds patience_;
};

}  // namespace cove::docker
