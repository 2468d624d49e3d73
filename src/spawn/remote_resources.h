#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/native/sandbox_resources.h"
#include "spawn/client.h"
#include "sys/btrfs.h"

namespace cove::spawn {

// Sandbox resources held by cove-spawn: all operations are requests over the channel, except reading the usage of a
// group or a layer, which needs no privilege. The group of the next exec is requested in advance.
class RemoteResources : public SandboxResources {
 public:
  // Complete: after adoption. Constructed before the sandbox is requested, because cove-spawn may report that it is
  // built before the reply is read.
  enum class Construction { Pending, Complete };
  RemoteResources(std::shared_ptr<SpawnClient> spawn, std::string id, Construction construction);
  ~RemoteResources() override;
  // cove-spawn has the sandbox and is notified when this object releases it. `usage_folder`: of its layer; may be
  // empty.
  void take_hold(bool has_groups, std::string usage_folder);
  // Reads the group of the first exec from a reply.
  Result<void> take_first_spare(wire::Reader& in, std::vector<UniqueFd> fds);

  Result<void> ready() override;
  SandboxEnded how_it_ended() override;
  bool has_groups() const override { return has_groups_; }
  Result<ExecGroup> take_exec_group() override;
  void make_spare() override;
  Result<std::unique_ptr<sys::Cgroup>> adopt_exec_group(const std::string& name) override;
  Result<void> kill_exec_group(const std::string& name) override;
  void retire_exec_group(const std::string& name) override;
  Result<void> freeze() override;
  Result<void> thaw() override;
  Result<void> set_limits(const Limits& limits) override;
  Result<sys::CgroupUsage> usage() override;
  Result<uint64_t> layer_usage() override;
  void keep_counters_open() override;
  Result<NetworkSockets> open_network() override;
  void kill() override;
  Result<void> destroy(Files files) override;
  Result<void> let_go(Files files) override;

 private:
  // The state that the reading thread updates; it may briefly outlive this object.
  struct Shared : SpawnClient::Listener {
    void built() override;
    void broken(Error error) override;
    void out_of_memory() override;
    void take_spare(Result<SpawnClient::Answer> answer);

    std::mutex mutex;
    std::condition_variable changed;
    bool is_built = false;
    std::optional<Error> error;
    bool out_of_memory_ = false;
    bool asked = false;  // a spare was requested
    std::optional<Result<ExecGroup>> spare;
  };
  wire::Writer about() const { return std::move(wire::Writer().text(id_)); }

  std::shared_ptr<SpawnClient> spawn_;
  std::string id_;
  bool holds_ = false;
  bool has_groups_ = false;
  std::string usage_folder_;
  std::optional<sys::btrfs::QuotaGauge> usage_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace cove::spawn
