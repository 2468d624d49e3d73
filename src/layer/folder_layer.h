#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "layer/layer.h"
#include "model/sandbox.h"

namespace cove {

// A plain folder in the state folder, without a size limit: `layers/ID`, or `layers/run-ID` for one run. Layers of one
// run whose owner was killed are removed when the next one is created.
class FolderLayer : public Layer {
 public:
  static Result<std::unique_ptr<FolderLayer>> create(const std::string& state, const std::string& id,
                                                     Lifetime lifetime);
  // Opens a kept layer.
  static Result<std::unique_ptr<FolderLayer>> find(const std::string& state, const std::string& id);
  // The ids of long-lived layers.
  static Result<std::vector<std::string>> list(const std::string& state);
  ~FolderLayer() override;

  LayerMount mount() const override;
  // The blocks of all files, each counted once. Exhausted beyond kMostFiles, to limit the time.
  Result<uint64_t> usage() const override;
  Result<void> remove() override;
  void keep() override { kept_ = true; }

  static constexpr uint64_t kMostFiles = 2'000'000;

 private:
  FolderLayer() = default;

  UniqueFd parent_;
  std::string name_;
  std::string path_;
  UniqueFd folder_;  // holds the flock that marks the layer as owned
  bool kept_ = false;
};

}  // namespace cove
