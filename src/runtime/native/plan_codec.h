#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/spawn_plan.h"

// A SpawnPlan on its way to a builder that waits for orders, between two processes of the same program: of such plans
// as BuilderPool takes.
namespace cove::native {

inline constexpr size_t kMaxPlan = 64 * 1024;

struct EncodedPlan {
  std::string data;
  std::vector<int> fds;  // the plan's own
};
EncodedPlan encode_plan(const SpawnPlan& plan, int control, int status);

struct PlanMessage {
  SpawnPlan plan;
  UniqueFd control;
  UniqueFd status;
  // What the plan has as plain numbers.
  UniqueFd layer;
  UniqueFd workspace;
  UniqueFd repository;
  UniqueFd listener;
};
Result<PlanMessage> decode_plan(std::string_view data, std::vector<UniqueFd> fds);

}  // namespace cove::native
