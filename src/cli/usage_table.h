#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/session.h"

namespace cove::cli {

// The resource usage of a sandbox at one point in time.
struct UsageSample {
  Json sandbox;
  Json stats;
};

// Samples the named sandboxes, or all running ones. Without names, sandboxes that are removed or stopped meanwhile are
// skipped.
Result<std::vector<UsageSample>> measure(Api& api, const std::vector<std::string>& sandboxes);

// CPU time as a share of one CPU since the previous sample, by sandbox id, if there is a previous one.
using CpuShares = std::map<std::string, double>;
CpuShares cpu_shares(const std::vector<UsageSample>& before, const std::vector<UsageSample>& now);

// The table of `cove stats` and `cove top`; with shares, sorted by CPU usage, highest first.
std::string usage_table(std::vector<UsageSample> samples, const CpuShares* shares);

}  // namespace cove::cli
