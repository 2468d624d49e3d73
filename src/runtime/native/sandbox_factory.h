#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "image/local_layer_store.h"
#include "layer/choose.h"
#include "layer/make.h"
#include "runtime/native/builder_pool.h"
#include "runtime/native/enforcement.h"
#include "runtime/native/local_resources.h"
#include "runtime/native/native_runtime.h"
#include "runtime/native/spawn_plan.h"
#include "sys/cgroup.h"

namespace cove::native {

// A sandbox that is being built, or is built.
struct CreatedSandbox {
  SandboxSpec spec;  // completed with defaults
  Holding holding;
  std::unique_ptr<LocalResources> resources;
  UniqueFd control;  // the channel to process 1
};

// Creates sandboxes, and finds those that earlier processes created: the part of the native runtime that needs
// privilege. Must be used in a process with a single thread, because it forks.
class SandboxFactory {
 public:
  SandboxFactory(Places places, IdRanges ranges);

  Capabilities capabilities(const std::string& runtime) const;
  // Examines whether an OCI runtime can be used by this process; starts it to get its version.
  Result<RuntimeFact> examine(const RuntimeKind& kind) const;
  Result<CreatedSandbox> create(const SandboxSpec& spec);
  Result<CreatedSandbox> adopt(const SandboxSpec& spec);
  Result<void> remove_files(const std::string& id);
  Result<void> sweep(const std::vector<std::string>& known);
  // The operations on images that need privilege; see LocalLayerStore. Long ones should be called in a child process.
  Result<std::optional<unpack::Report>> find_layer(const std::string& key) const;
  Result<unpack::Report> unpack_layer(const UnpackRequest& request) const;
  Result<unpack::Report> examine_layer(const std::string& key) const;
  Result<void> assemble_image(const std::string& digest, const std::vector<std::string>& keys) const;
  Result<void> sweep_images(const std::set<std::string>& roots, const std::set<std::string>& layers) const;

  // From now on builders are kept for the next sandboxes. For a process that waits for all its children.
  void begin_to_serve() { builders_.emplace(); }
  void stop_serving() { builders_.reset(); }
  void rest() {
    if (builders_) builders_->maintain();
    host_image_.reset();  // a held image is not removed
  }

  const Places& places() const { return places_; }
  // Must be called a few times per second while long-lived sandboxes run.
  void maintain();

 private:
  bool has_all_limits() const;
  std::string group_name(const SandboxSpec& spec) const;
  std::string oci_group_name(const SandboxSpec& spec) const;
  Result<Layers*> layers();
  Result<LayerChoice> choose_layer_for(const SandboxSpec& spec);
  Result<std::unique_ptr<Layer>> make_layer_for(const SandboxSpec& spec, const LayerChoice& choice);
  Result<ImageRoot> find_image(const std::string& reference, const sys::IdPlan& ids, UniqueFd& hold);
  Result<ImageRoot> find_host_image(const sys::IdPlan& ids, UniqueFd& hold);
  Result<LocalLayerStore> layer_store() const;
  Result<sys::IdPlan> plan_image_ids() const;
  Result<sys::IdPlan> plan_ids(const SandboxSpec& spec) const;
  Result<std::optional<OciPlan>> plan_oci(const SandboxSpec& spec, const sys::IdPlan& ids) const;
  Means means(const SandboxSpec& spec, LayerKind layer) const;
  Result<SpawnPlan> plan(const SandboxSpec& spec, const Holding& holding);
  Result<CreatedSandbox> create_on(SandboxSpec spec, Holding holding, SpawnPlan plan, std::unique_ptr<Layer>& layer);
  Result<std::unique_ptr<sys::Cgroup>> make_group(const SandboxSpec& spec);
  Result<std::unique_ptr<sys::Cgroup>> make_kernel_group(const SandboxSpec& spec, OciPlan& plan);
  Result<LocalResources::Parts> find_parts(const std::string& id);
  Result<LocalResources::Parts> find_traces(const std::string& id);
  Result<CreatedSandbox> adopt_running(const SandboxSpec& spec);
  Result<void> remove_leftovers(const std::string& id, Files files);
  void sweep_leftovers();
  std::string socket_path(const std::string& id) const { return concat(places_.run_folder, "/", id); }

  Places places_;
  std::string long_prefix_;  // of the groups of long-lived sandboxes
  std::string oci_prefix_;   // of the groups that OCI runtimes create for process 1
  bool shares_ids_;
  Result<std::unique_ptr<sys::CgroupTree>> groups_;
  std::optional<Layers> layers_;
  struct HostImage {
    ImageRoot image;
    UniqueFd hold;
    unsigned first_id;
    std::chrono::steady_clock::time_point seen;
  };
  std::optional<HostImage> host_image_;  // only if many sandboxes are created
  std::optional<BuilderPool> builders_;
};

}  // namespace cove::native
