#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_folder.h"

namespace cove::sys {

// The controllers that a v2 group has only if its parent delegates them.
inline constexpr Controller kV2Controllers[] = {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Io,
                                                Controller::Cpuset};

// From "cpu io memory": the controllers named, and the freezer, which every group has.
ControllerSet parse_controllers(std::string_view text);
// How to get a controller that a group lacks.
std::string missing_v2_hint();

// The root of the whole hierarchy, the one group that may have both processes and children with controllers.
bool is_real_root(int folder);
// Whether its own processes prevent the group from delegating controllers. The kernel does not always refuse: it may
// turn the group into a threaded one, without most of the controllers.
Result<bool> is_occupied(int folder);
// Enables the available controllers of `wanted` for the children of `folder`; returns what they have then.
Result<ControllerSet> delegate_controllers(int folder, const ControllerSet& wanted);

class V2Group final : public Cgroup {
 public:
  V2Group(std::string name, UniqueFd folder, ControllerSet controllers)
      : name_(std::move(name)), folder_(std::move(folder)), controllers_(controllers) {}

  const std::string& name() const override { return name_; }
  bool has(Controller controller) const override { return controllers_.has(controller); }

  Result<void> set_cpus(double cpus) override;
  Result<void> set_cpu_count(unsigned count) override;
  Result<void> set_memory(uint64_t bytes, uint64_t swap) override;
  bool counts_swap() const override;
  Result<void> set_pids(uint64_t count) override;
  Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) override;

  Result<void> freeze() override { return freeze_within(kFreezeTimeout); }
  Result<void> thaw() override;
  Result<void> kill() override;
  Result<bool> populated() const override;

  Result<std::vector<UniqueFd>> open_join_fds() const override;
  int clone_fd() const override { return folder_.get(); }

  Result<CgroupUsage> usage() const override;
  Result<void> remove() override;
  Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) override;
  Result<std::unique_ptr<Cgroup>> adopt_child(const std::string& name) override;
  Parts parts() const override;

 private:
  Result<void> require(Controller controller) const;
  Result<void> freeze_within(std::chrono::milliseconds patience);

  Result<void> count_memory(CgroupUsage& usage) const;
  Result<void> count_pids(CgroupUsage& usage) const;

  std::string name_;
  UniqueFd folder_;  // invalid once removed
  ControllerSet controllers_;
  bool hands_on_controllers_ = false;
  mutable HighestSeen memory_seen_;
  mutable HighestSeen pids_seen_;
};

// Sums "254:0 rbytes=4096 wbytes=0 rios=1 …" over all devices.
void add_io_stat(std::string_view text, CgroupUsage& usage);

}  // namespace cove::sys
