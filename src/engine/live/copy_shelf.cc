#include "engine/live/copy_shelf.h"

#include <utility>

namespace cove::live {
namespace {

constexpr size_t kBetween = 4;  // interpreters that come between two that have one start
constexpr std::chrono::seconds kOldest(20);
constexpr std::chrono::minutes kRest(10);

}  // namespace

std::optional<Copy> CopyShelf::take(Clock::time_point now) {
  tidy(now);
  if (!is_open(now) || copies_.size() < kBetween) return std::nullopt;
  Kept next = std::move(copies_.front());
  copies_.pop_front();
  Copy copy = next.copy;
  if (--next.left > 0) copies_.push_back(std::move(next));
  return copy;
}

void CopyShelf::put(Copy copy, Clock::time_point now) {
  if (is_open(now)) copies_.push_back({std::move(copy), each_, now});
}

void CopyShelf::give_up(Clock::time_point now) {
  copies_.clear();
  closed_until_ = now + kRest;
}

void CopyShelf::tidy(Clock::time_point now) {
  std::erase_if(copies_, [&](const Kept& each) { return now - each.made > kOldest; });
}

}  // namespace cove::live
