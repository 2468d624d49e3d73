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
  bool sized = false;   // the engine holds its disk limit
};

// A Docker or Podman engine of this machine, over its Unix socket. Each call is a connection of its own; blocking. An
// answer of 400 or more is an Error with what the engine says.
class Engine {
 public:
  // `patience`: how long an engine that is busy is waited for.
  explicit Engine(std::string socket, std::chrono::seconds patience = std::chrono::seconds(120))
      : socket_(std::move(socket)), patience_(patience) {}

  const std::string& socket() const { return socket_; }

  // Which engine it is, in the words of its shortest answer.
  Result<std::string> identity() const;
  // Takes Podman some tenths of a second.
  Result<EngineFacts> facts() const;
  // NotFound, with how to pull it, where the engine does not have it.
  Result<ImageConfig> image(const std::string& name, const EngineFacts& facts) const;

  // Its id.
  Result<std::string> create(const std::string& name, const Json& order) const;
  Result<void> start(const std::string& id) const;
  Result<void> update(const std::string& id, const Json& order) const;
  // Whether it runs; how it ended, in words, where it does not.
  struct State {
    bool running = false;
    std::string ended;
  };
  Result<State> state(const std::string& id) const;
  // Those with all of these labels ("name=value"), also those that do not run.
  Result<std::vector<Container>> list(const std::vector<std::string>& labels) const;
  // Kills it; returns when the engine has noted that.
  Result<void> stop(const std::string& id) const;
  // Running or not, with its files; returns when it is gone. One that is gone already is fine.
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
