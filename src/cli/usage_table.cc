#include "cli/usage_table.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/table.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

using client::count_of;
using client::number_of;
using client::text_of;

std::string id_of(const UsageSample& sample) { return text_of(sample.sandbox, "id"); }

double cpu_ms(const UsageSample& sample) {
  return number_of(sample.stats, "cpu_user_ms") + number_of(sample.stats, "cpu_system_ms");
}

std::string decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

// "120 MiB / 2 GiB".
std::string of_limit(uint64_t used, uint64_t limit) {
  return limit == 0 ? format_bytes(used) : concat(format_bytes(used), " / ", format_bytes(limit));
}

std::string percent(uint64_t used, uint64_t limit) {
  if (limit == 0) return "-";
  return decimal(100.0 * static_cast<double>(used) / static_cast<double>(limit)) + "%";
}

std::string name_of(const Json& sandbox) {
  std::string name = text_of(sandbox, "name");
  return printable(name.empty() ? text_of(sandbox, "id") : name);
}

std::string share_of(const UsageSample& sample, const CpuShares* shares) {
  auto found = shares->find(id_of(sample));
  return found == shares->end() ? "-" : decimal(found->second * 100) + "%";
}

}  // namespace

Result<std::vector<UsageSample>> measure(Api& api, const std::vector<std::string>& sandboxes) {
  std::vector<UsageSample> samples;
  for (const std::string& name : sandboxes) {
    Json sandbox = COVE_TRY(api.sandbox(name));
    samples.push_back({std::move(sandbox), COVE_TRY(api.stats(name))});
  }
  if (!sandboxes.empty()) return samples;
  for (Json& sandbox : COVE_TRY(api.sandboxes({.state = "running"}))) {
    Result<Json> stats = api.stats(text_of(sandbox, "id"));
    if (stats) samples.push_back({std::move(sandbox), std::move(*stats)});
  }
  return samples;
}

CpuShares cpu_shares(const std::vector<UsageSample>& before, const std::vector<UsageSample>& now) {
  CpuShares shares;
  for (const UsageSample& sample : now) {
    auto old =
        std::find_if(before.begin(), before.end(), [&](const auto& each) { return id_of(each) == id_of(sample); });
    if (old == before.end()) continue;
    auto begin = parse_time(text_of(old->stats, "time")), end = parse_time(text_of(sample.stats, "time"));
    if (!begin || !end || *end <= *begin) continue;
    double elapsed = std::chrono::duration<double, std::milli>(*end - *begin).count();
    shares[id_of(sample)] = std::max(0.0, cpu_ms(sample) - cpu_ms(*old)) / elapsed;
  }
  return shares;
}

std::string usage_table(std::vector<UsageSample> samples, const CpuShares* shares) {
  auto share = [&](const UsageSample& sample) {
    auto found = shares->find(id_of(sample));
    return found == shares->end() ? 0.0 : found->second;
  };
  if (shares != nullptr)
    std::stable_sort(samples.begin(), samples.end(), [&](auto& a, auto& b) { return share(a) > share(b); });
  Table table({"SANDBOX", shares ? "CPU" : "CPU TIME", "MEMORY", "MEM %", "PROCESSES", "DISK", "READ", "WRITTEN"});
  for (const UsageSample& sample : samples) {
    const Json& stats = sample.stats;
    uint64_t memory = count_of(stats, "memory_bytes"), memory_limit = count_of(stats, "memory_limit_bytes");
    table.add({name_of(sample.sandbox), shares ? share_of(sample, shares) : decimal(cpu_ms(sample) / 1000) + "s",
               of_limit(memory, memory_limit), percent(memory, memory_limit), concat(count_of(stats, "processes")),
               of_limit(count_of(stats, "disk_bytes"), count_of(stats, "disk_limit_bytes")),
               format_bytes(count_of(stats, "io_read_bytes")), format_bytes(count_of(stats, "io_write_bytes"))});
  }
  return table.text();
}

}  // namespace cove::cli
