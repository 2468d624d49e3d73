#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/session.h"

namespace cove::cli {

// What a sandbox uses at a moment.
struct UsageSample {
  Json sandbox;
  Json stats;
};

// Of those named, or of all that run. One that is gone or stopped meanwhile is passed over where none was named.
Result<std::vector<UsageSample>> measure(Api& api, const std::vector<std::string>& sandboxes);

// CPU time as a share of one CPU since the sample before, by sandbox id, where there is one.
using CpuShares = std::map<std::string, double>;
CpuShares cpu_shares(const std::vector<UsageSample>& before, const std::vector<UsageSample>& now);

// The table of `cove stats` and `cove top`; with shares those who use most come first.
std::string usage_table(std::vector<UsageSample> samples, const CpuShares* shares);

}  // namespace cove::cli
