#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/spawn_plan.h"

// Serializes a SpawnPlan for a builder of a pool, another process of the same program. Only for plans that BuilderPool
// accepts.
namespace cove::native {

inline constexpr size_t kMaxPlan = 64 * 1024;

struct EncodedPlan {
  std::string data;
  std::vector<int> fds;  // the plan's descriptors
};
EncodedPlan encode_plan(const SpawnPlan& plan, int control, int status);

struct PlanMessage {
  SpawnPlan plan;
  UniqueFd control;
  UniqueFd status;
  // The plan's fields that are plain numbers.
  UniqueFd layer;
  UniqueFd workspace;
  UniqueFd repository;
  UniqueFd listener;
};
Result<PlanMessage> decode_plan(std::string_view data, std::vector<UniqueFd> fds);

}  // namespace cove::native
