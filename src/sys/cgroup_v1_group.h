#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_folder.h"

namespace cove::sys {

// The v1 controllers, each with our controller that it implements. Some may share a hierarchy.
enum Subsystem : unsigned { kCpu, kCpuacct, kMemory, kPids, kFreezer, kBlkio, kCpuset };
struct SubsystemRow {
  Subsystem subsystem;
  const char* name;
  Controller serves;
};
inline constexpr SubsystemRow kSubsystems[] = {
    {kCpu, "cpu", Controller::Cpu},
    {kCpuacct, "cpuacct", Controller::Cpu},
    {kMemory, "memory", Controller::Memory},
    {kPids, "pids", Controller::Pids},
    {kFreezer, "freezer", Controller::Freezer},
    {kBlkio, "blkio", Controller::Io},
    {kCpuset, "cpuset", Controller::Cpuset},
};

// A folder in one hierarchy.
struct V1Part {
  unsigned subsystems = 0;  // bits
  UniqueFd folder;

  bool serves(Subsystem subsystem) const { return (subsystems & (1u << subsystem)) != 0; }
};

// The folder of the hierarchy with that subsystem, or -1.
int folder_with(const std::vector<V1Part>& parts, Subsystem subsystem);
bool serve(const std::vector<V1Part>& parts, Controller controller);
bool files_count_swap(const std::vector<V1Part>& parts);

// How to get a controller that a group lacks.
std::string missing_v1_hint();

class V1Group final : public Cgroup {
 public:
  V1Group(std::string name, std::vector<V1Part> parts) : name_(std::move(name)), parts_(std::move(parts)) {}

  // Creates `name` in the parents that implement something of `wanted`.
  static Result<std::unique_ptr<V1Group>> make(const std::vector<V1Part>& parents, const std::string& name,
                                               const ControllerSet& wanted);

  const std::string& name() const override { return name_; }
  bool has(Controller controller) const override { return serve(parts_, controller); }

  Result<void> set_cpus(double cpus) override;
  Result<void> set_cpu_count(unsigned count) override;
  Result<void> set_memory(uint64_t bytes, uint64_t swap) override;
  bool counts_swap() const override { return files_count_swap(parts_); }
  Result<void> set_pids(uint64_t count) override;
  Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) override;

  Result<void> freeze() override { return freeze_within(kFreezeTimeout); }
  Result<void> thaw() override;
  Result<void> kill() override;
  Result<bool> populated() const override;

  Result<std::vector<UniqueFd>> open_join_fds() const override;
  int clone_fd() const override { return -1; }

  Result<CgroupUsage> usage() const override;
  void keep_counters_open() override;
  Result<void> remove() override;
  Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) override;
  Result<std::unique_ptr<Cgroup>> adopt_child(const std::string& name) override;
  Parts parts() const override;

 private:
  Result<void> join_around(V1Group& child) const;
  Result<int> folder_of(Controller controller, Subsystem subsystem) const;
  int any_folder() const;  // the freezer's, if there is one
  Result<void> freeze_within(std::chrono::milliseconds patience);
  Result<void> limit_swap(uint64_t memory_and_swap) const;

  // The files that `usage` reads, of a group with none below it.
  struct OpenCounters {
    UniqueFd cpu, cpu_split;
    UniqueFd memory_peak, oom;
    UniqueFd pids, pids_peak, pids_events;
  };
  static CgroupUsage read_counters(const OpenCounters& open);
  Result<void> count_cpu(CgroupUsage& usage) const;
  Result<void> count_memory(CgroupUsage& usage) const;
  Result<void> count_pids(CgroupUsage& usage) const;
  Result<void> count_io(CgroupUsage& usage) const;

  std::string name_;
  std::vector<V1Part> parts_;
  std::vector<V1Part> around_;  // groups of the parent that its members also belong to
  mutable HighestSeen pids_seen_;
  std::optional<OpenCounters> open_;
};

// CPU time split as user and system ticks were, for the ticks alone miss what runs between two of them.
void split_cpu_time(uint64_t total_ns, uint64_t user_ticks, uint64_t system_ticks, CgroupUsage& usage);
// Sums "254:0 Read 4096" and "254:0 Write 0" over all devices.
void add_io_service_bytes(std::string_view text, CgroupUsage& usage);

}  // namespace cove::sys
