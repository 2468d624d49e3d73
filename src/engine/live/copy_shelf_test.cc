#include "engine/live/copy_shelf.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace cove::live {
namespace {

using Clock = CopyShelf::Clock;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kBetween = 4;

// Interpreters one after the other, by the number of the start that they come of.
std::vector<int> interpreters(CopyShelf& shelf, int count, Clock::time_point now) {
  std::vector<int> starts;
  int started = 0;
  for (int i = 0; i < count; ++i) {
    std::optional<Copy> copy = shelf.take(now);
    if (!copy) shelf.put({nullptr, std::to_string(started)}, now);
    starts.push_back(copy ? std::stoi(copy->script) : started++);
  }
  return starts;
}

TEST(CopyShelf, UsesEachStartSoOftenAndNoOftener) {
  CopyShelf shelf(3);
  std::map<int, int> uses;
  for (int start : interpreters(shelf, 400, Clock::now())) ++uses[start];
  for (auto [start, count] : uses) EXPECT_LE(count, 4);
  // All that was started long before the end was used up.
  for (int start = 0; start < 80; ++start) EXPECT_EQ(uses[start], 4);
}

TEST(CopyShelf, LetsOthersComeBetweenTwoOfOneStart) {
  CopyShelf shelf(3);
  std::vector<int> starts = interpreters(shelf, 400, Clock::now());
  for (size_t i = 0; i < starts.size(); ++i)
    for (size_t k = i + 1; k < std::min(starts.size(), i + kBetween); ++k) EXPECT_NE(starts[i], starts[k]) << i;
}

TEST(CopyShelf, CopiesNothingWhereNoneIsWanted) {
  CopyShelf shelf(0);
  EXPECT_FALSE(shelf.is_open(Clock::now()));
  std::vector<int> starts = interpreters(shelf, 20, Clock::now());
  EXPECT_EQ(starts.back(), 19);
  EXPECT_EQ(shelf.size(), 0u);
}

TEST(CopyShelf, ForgetsWhatIsOld) {
  CopyShelf shelf(3);
  const Clock::time_point then = Clock::now();
  interpreters(shelf, 10, then);
  ASSERT_EQ(shelf.size(), kBetween);
  EXPECT_FALSE(shelf.take(then + seconds(30)));
  EXPECT_EQ(shelf.size(), 0u);
}

TEST(CopyShelf, RestsAfterAFailure) {
  CopyShelf shelf(3);
  const Clock::time_point then = Clock::now();
  interpreters(shelf, 10, then);
  shelf.give_up(then);
  EXPECT_EQ(shelf.size(), 0u);
  shelf.put({nullptr, "0"}, then + seconds(1));
  EXPECT_EQ(shelf.size(), 0u);
  EXPECT_FALSE(shelf.is_open(then + seconds(1)));
  EXPECT_TRUE(shelf.is_open(then + minutes(11)));
}

}  // namespace
}  // namespace cove::live
