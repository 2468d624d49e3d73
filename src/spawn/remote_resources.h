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

// A hand that cove-spawn has: everything is asked for over the channel, but for what a group or a layer used, which
// anybody may read. The group of the next exec is asked for ahead.
class RemoteResources : public SandboxResources {
 public:
  // BuiltContainer: after adoption. Made before cove-spawn is asked for the sandbox: it may say that the walls stand
  // before the answer is looked at.
  enum class SandboxFactory { PendingContainer, BuiltContainer };
  RemoteResources(std::shared_ptr<SpawnClient> spawn, std::string id, SandboxFactory factory);
  ~RemoteResources() override;
  // cove-spawn has the sandbox, and is told when this hand lets it go. `usage_folder`: of its layer; may be empty.
  void take_hold(bool has_groups, std::string usage_folder);
  // What an answer has to say of the group of the first exec.
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
  void kill() override;
  Result<void> destroy(Files files) override;
  Result<void> let_go(Files files) override;

 private:
  // What the reading thread tells; it may outlive the hand by a moment.
  struct Shared : SpawnClient::Listener {
    void built() override;
    void broken(Error error) override;
    void out_of_memory() override;
    void take_spare(Result<SpawnClient::Answer> answer);

    std::mutex mutex;
    std::condition_variable changed;
    bool stands = false;
    std::optional<Error> error;
    bool out_of_memory_ = false;
    bool asked = false;  // for a spare
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
