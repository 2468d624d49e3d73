#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layer/layer.h"
#include "runtime/native/builder.h"
#include "runtime/native/sandbox_resources.h"

namespace cove::native {

// A hand in this process: one thread, with the rights that the sandbox was made with.
class LocalResources : public SandboxResources {
 public:
  struct Parts {
    SandboxSpec spec;
    std::unique_ptr<Layer> layer;        // null where none was found
    std::unique_ptr<sys::Cgroup> group;  // null where the machine has none for us
    bool exec_groups = true;             // execs can have groups in it
    std::optional<Builder> builder;      // none after adoption, or once a long-lived sandbox stands
    UniqueFd process_1;                  // Lifetime::Long: its pidfd, once the walls stand
    std::string socket_path;             // Lifetime::Long: where process 1 takes servers
    UniqueFd id_lock;
    UniqueFd image_hold;
    std::function<void()> idle_work;  // done while the sandbox comes down
    std::function<void()> after_end;  // when nothing of it runs any more
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
  void kill() override;
  Result<void> destroy(Files files) override;

  // The same in steps, for a loop that waits for nobody: everything is killed, `end_fd` tells when it is dead, and
  // `finish_end` removes what is left; Unavailable where that takes longer: `destroy` does the rest then.
  bool can_end_in_steps(Files files) const;
  // Whether changing or ending it means waiting for another program.
  virtual bool waits_for_others() const { return false; }
  void begin_end();
  int end_fd() const { return parts_.process_1.get(); }
  Result<void> finish_end(Files files);
  // Whether anything but process 1 runs in it; where that cannot be known, yes.
  bool in_use() const;

  // For a loop that serves many hands: readable when the builder has a word, -1 when nothing more will come.
  int builder_fd() const { return parts_.builder ? parts_.builder->status.get() : -1; }
  // Groups of ended execs in which nothing is left.
  void remove_retired();
  bool built() const { return built_; }
  void drop_builder() { parts_.builder.reset(); }
  // The caller's loop waits for all children of the process; this must not.
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
