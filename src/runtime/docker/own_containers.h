#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/sandbox.h"
#include "runtime/docker/engine.h"

// The containers of one Cove in all engines it has used, found by their labels.
namespace cove::docker {

class OwnContainers {
 public:
  explicit OwnContainers(std::string state) : state_(std::move(state)) {}

  // Records that containers are created in the engine at that socket.
  Result<void> note_engine(const std::string& socket) const;

  // Whether any engine was recorded.
  bool has_engines() const { return !engines().empty(); }

  struct Found {
    Engine engine;
    std::string id;
    bool sized = false;
  };
  // The container of a sandbox; NotFound if no engine has one.
  Result<Found> find(const std::string& sandbox_id) const;
  // Changes the limits that the engine enforces for it.
  Result<void> set_limits(const std::string& sandbox_id, const Json& order) const;
  // Stops it and keeps its files. Succeeds if it does not exist.
  Result<void> stop(const std::string& sandbox_id) const;
  Result<void> remove(const std::string& sandbox_id) const;
  // Removes all that are not among `known`.
  Result<void> remove_others(const std::vector<std::string>& known) const;

 private:
  std::vector<std::string> engines() const;
  std::string label() const;

  std::string state_;
};

}  // namespace cove::docker
