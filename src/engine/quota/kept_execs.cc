#include "engine/quota/kept_execs.h"

namespace cove::engine {

void KeptExecs::add(const RemovedSandbox& sandbox) {
  std::lock_guard lock(mutex_);
  OfProject& project = projects_[sandbox.project];
  if (!project.counter) project.counter = counter_of_(sandbox.project);
  project.sandboxes.push_back(sandbox);
  project.used += sandbox.bytes;
  *project.counter += sandbox.bytes;
  while (project.used > most_ && !project.sandboxes.empty()) drop_oldest(project);
}

void KeptExecs::drop_oldest(OfProject& project) {
  const RemovedSandbox oldest = std::move(project.sandboxes.front());
  project.sandboxes.pop_front();
  project.used -= oldest.bytes;
  *project.counter -= oldest.bytes;
  drop_(oldest.id);
}

void KeptExecs::drop_before(int64_t removed_ms) {
  std::lock_guard lock(mutex_);
  for (auto& [name, project] : projects_)
    while (!project.sandboxes.empty() && project.sandboxes.front().removed_ms < removed_ms) drop_oldest(project);
}

void KeptExecs::give_way(const std::string& name, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto is_meant = [&](const std::string& each) { return name.empty() || each == name; };
  uint64_t there = 0;
  for (const auto& [each, project] : projects_)
    if (is_meant(each)) there += project.used;
  if (there < bytes) return;
  uint64_t freed = 0;
  for (auto& [each, project] : projects_) {
    if (!is_meant(each)) continue;
    while (freed < bytes && !project.sandboxes.empty()) {
      freed += project.sandboxes.front().bytes;
      drop_oldest(project);
    }
  }
}

}  // namespace cove::engine
