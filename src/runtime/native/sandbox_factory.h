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

// A sandbox whose walls are rising, or stand.
struct CreatedSandbox {
  SandboxSpec spec;  // as it was completed
  Holding holding;
  std::unique_ptr<LocalResources> resources;
  UniqueFd control;  // the channel to process 1
};

// Makes sandboxes, and finds those that earlier processes made: all of the native runtime that needs privilege. One
// thread of a process that has no other threads, because it forks.
class SandboxFactory {
 public:
  SandboxFactory(Places places, IdRanges ranges);

  Capabilities capabilities(const std::string& runtime) const;
  // Whether an OCI runtime can be used by this process; starts it, to ask for its version.
  Result<RuntimeFact> examine(const RuntimeKind& kind) const;
  Result<CreatedSandbox> raise(const SandboxSpec& spec);
  Result<CreatedSandbox> adopt(const SandboxSpec& spec);
  Result<void> remove_files(const std::string& id);
  Result<void> sweep(const std::vector<std::string>& known);
  // Of images, what needs privilege; see LocalLayerStore. What takes long is for a child of the caller's.
  Result<std::optional<unpack::Report>> find_layer(const std::string& key) const;
  Result<unpack::Report> unpack_layer(const UnpackRequest& request) const;
  Result<unpack::Report> examine_layer(const std::string& key) const;
  Result<void> assemble_image(const std::string& digest, const std::vector<std::string>& keys) const;
  Result<void> sweep_images(const std::set<std::string>& roots, const std::set<std::string>& layers) const;

  // From now on builders stay, for the next sandboxes. For a process that waits for all its children.
  void begin_to_serve() { builders_.emplace(); }
  void stop_serving() { builders_.reset(); }
  void rest() {
    if (builders_) builders_->maintain();
    host_image_.reset();  // an image that is held is not removed
  }

  const Places& places() const { return places_; }
  // To be called a few times a second while long-lived sandboxes run.
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
  Result<LocalLayerStore> shelf() const;
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
  Result<CreatedSandbox> adopt_standing(const SandboxSpec& spec);
  Result<void> remove_remains(const std::string& id, Files files);
  void sweep_left_overs();
  std::string socket_path(const std::string& id) const { return concat(places_.run_folder, "/", id); }

  Places places_;
  std::string long_prefix_;  // of the groups of long-lived sandboxes
  std::string oci_prefix_;   // of those that OCI runtimes make for their process 1
  bool shares_ids_;
  Result<std::unique_ptr<sys::CgroupTree>> groups_;
  std::optional<Layers> layers_;
  struct HostImage {
    ImageRoot image;
    UniqueFd hold;
    unsigned first_id;
    std::chrono::steady_clock::time_point seen;
  };
  std::optional<HostImage> host_image_;  // only where many sandboxes are made
  std::optional<BuilderPool> builders_;
};

}  // namespace cove::native
