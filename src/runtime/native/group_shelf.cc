#include "runtime/native/group_shelf.h"

namespace cove::native {
namespace {

constexpr size_t kMost = 16;
constexpr std::chrono::seconds kPatience(1);

}  // namespace

bool GroupShelf::put(const Limits& limits, Pair& pair) {
  if (!pair.group->renew(*pair.exec)) return false;
  if (kept_.size() >= kMost) remove_oldest();
  kept_.push_back({Key(limits), std::move(pair), std::chrono::steady_clock::now()});
  return true;
}

std::optional<GroupShelf::Pair> GroupShelf::take(const Limits& limits, const std::string& name) {
  const Key key(limits);
  for (size_t i = kept_.size(); i-- > 0;) {
    if (kept_[i].limits != key) continue;
    Pair pair = std::move(kept_[i].pair);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    // The quota anew: the one before may have used this period's up.
    const bool set = key.cpus <= 0 || pair.group->set_cpus(key.cpus);
    if (set && pair.group->rename(name)) return pair;
    remove(pair);
  }
  return std::nullopt;
}

void GroupShelf::tend() {
  const auto now = std::chrono::steady_clock::now();
  while (!kept_.empty() && now - kept_.front().since > kPatience) remove_oldest();
}

void GroupShelf::clear() {
  while (!kept_.empty()) remove_oldest();
}

void GroupShelf::remove_oldest() {
  remove(kept_.front().pair);
  kept_.erase(kept_.begin());
}

void GroupShelf::remove(Pair& pair) {
  static_cast<void>(pair.exec->remove());
  static_cast<void>(pair.group->remove());
}

}  // namespace cove::native
