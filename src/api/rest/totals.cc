#include "api/rest/totals.h"

#include "base/json.h"

namespace cove::api {
namespace {

constexpr size_t kAtOnce = 1000;
constexpr const char* kSummed[] = {"cpu_user_ms",    "cpu_system_ms", "disk_written_bytes", "io_read_bytes",
                                   "io_write_bytes", "net_in_bytes",  "net_out_bytes"};

}  // namespace

void add_usage(Totals::Sums& sums, const std::string& event_data) {
  sums["execs"] += 1;
  Json json = Json::parse(event_data).value_or(Json());
  if (!json.is_object()) return;
  for (const char* name : kSummed) {
    auto value = json.find(name);
    if (value && value->is_number_unsigned()) sums[name] += value->get<uint64_t>();
  }
}

Result<void> Totals::read_on(engine::Engine& engine, const Caller& caller, const EventFilter& filter,
                             Progress& progress) {
  progress.sums.emplace("execs", 0);
  for (const char* name : kSummed) progress.sums.emplace(name, 0);
  while (true) {
    std::vector<EventRecord> events = COVE_TRY(engine.events(caller, filter, progress.after, kAtOnce));
    for (const EventRecord& event : events) {
      progress.after = event.seq;
      if (event.kind == "exec.ended") add_usage(progress.sums, event.data);
    }
    if (events.size() < kAtOnce) return {};
  }
}

Result<Totals::Sums> Totals::of(engine::Engine& engine, const Caller& caller) {
  std::lock_guard lock(mutex_);
  Progress& progress = projects_[caller.project];
  COVE_TRY(read_on(engine, caller, {}, progress));
  return progress.sums;
}

Result<Totals::Sums> Totals::of(engine::Engine& engine, const Caller& caller, EventFilter filter) {
  Progress progress;
  filter.kinds = {"exec.ended"};
  COVE_TRY(read_on(engine, caller, filter, progress));
  return progress.sums;
}

}  // namespace cove::api
