#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layer/layer.h"
#include "runtime/native/builder.h"
#include "runtime/native/network.h"
#include "runtime/native/sandbox_resources.h"

namespace cove::native {

// Sandbox resources held by this process: one thread, with the rights that the sandbox was created with.
class LocalResources : public SandboxResources {
 public:
  struct Parts {
    SandboxSpec spec;
    std::unique_ptr<Layer> layer;        // null if none was found
    std::unique_ptr<sys::Cgroup> group;  // null if this user cannot create any
    bool exec_groups = true;             // execs can have groups below it
    std::optional<Builder> builder;      // none after adoption, or once a long-lived sandbox is built
    UniqueFd process_1;                  // Lifetime::Long: its pidfd, once the sandbox is built
    std::string socket_path;             // Lifetime::Long: where process 1 accepts servers
    UniqueFd id_lock;
    UniqueFd image_hold;
    std::function<void()> idle_work;  // called while the sandbox is being removed
    std::function<void()> after_end;  // called when no process of it is left
  };
  explicit LocalResources(Parts parts) : parts_(std::move(parts)) {}
  ~LocalResources() override;

  Result<void> ready() override;
  SandboxEnded how_it_ended() override;
  bool has_groups() const override { return parts_.group != nullptr && parts_.exec_groups; }
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
  Result<NetworkSockets> open_network() override;
  void kill() override;
  Result<void> destroy(Files files) override;

  // The same in steps, for a loop that must not block: begin_end kills everything, `end_fd` becomes readable when all
  // processes have ended, and `finish_end` removes the rest; if that takes longer it returns Unavailable, and `destroy`
  // must do the rest.
  bool can_end_in_steps(Files files) const;
  // Whether changing or ending it requires waiting for another program.
  virtual bool waits_for_others() const { return false; }
  void begin_end();
  int end_fd() const { return parts_.process_1.get(); }
  Result<void> finish_end(Files files);
  // Whether a process other than process 1 runs in it; true if that is unknown.
  bool in_use() const;

  // Where its network is opened, once it is built; Unsupported in a run without a server.
  Result<NetworkPlace> network_place();

  // For a loop that serves many sandboxes: readable when the builder has a message, -1 when none will follow.
  int builder_fd() const { return parts_.builder ? parts_.builder->status.get() : -1; }
  // Removes the groups of ended execs that are empty.
  void remove_retired();
  bool built() const { return built_; }
  void drop_builder() { parts_.builder.reset(); }
  // The caller's loop reaps all children of the process, so this must not.
  void leave_reaping_to_caller() { reaps_ = false; }
  std::string usage_folder() const { return parts_.layer ? parts_.layer->usage_folder() : std::string(); }
  const SandboxSpec& spec() const { return parts_.spec; }
  LayerKind layer_kind() const { return parts_.layer ? parts_.layer->mount().kind : LayerKind::Memory; }

 private:
  Result<std::unique_ptr<sys::Cgroup>> copy_of(const sys::Cgroup& group, const std::string& name) const;
  Result<void> remove_groups();
  void retire_all();
  Result<void> remove_layer();
  Result<void> wait_for_process_1() const;
  void find_process_1();

  Parts parts_;
  struct Spare {
    std::unique_ptr<sys::Cgroup> group;
    std::vector<UniqueFd> join_fds = {};
  } spare_;
  std::map<std::string, std::unique_ptr<sys::Cgroup>> exec_groups_;
  std::vector<std::unique_ptr<sys::Cgroup>> retired_;  // of execs that have ended
  bool reaps_ = true;
  bool built_ = false;
  bool killed_when_built_ = false;
  bool ended_ = false;
};

}  // namespace cove::native
