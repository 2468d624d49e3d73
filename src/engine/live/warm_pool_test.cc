#include "engine/live/warm_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cove::live {
namespace {

// One that can make no sandbox of these many processes, and of others neither, but counts the two apart.
class FailingRuntime : public Runtime {
 public:
  static constexpr uint64_t kImpossible = 1'000'000'000'000;

  Capabilities capabilities() const override { return {}; }
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    ++(spec.limits.processes.value == kImpossible ? impossible : others);
    return fail(Code::Internal, "no sandbox can be made");
  }
  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec&) override { return fail(Code::NotFound, "gone"); }
  Result<void> remove_files(const SandboxSpec&) override { return {}; }
  Result<void> sweep(const std::vector<std::string>&) override { return {}; }

  std::atomic<int> impossible = 0;
  std::atomic<int> others = 0;
};

TEST(WarmPool, DoesNotTryAgainAndAgainWhatCannotBeMade) {
  Config config;
  config.pool.languages.clear();
  FailingRuntime runtime;
  RoomGauge room("/tmp");
  Languages languages({}, [](const std::string&) { return std::nullopt; }, {}, "/tmp");
  WarmPool pool(config, runtime, room, languages);
  pool.start();
  SandboxSpec spec;
  spec.limits.processes.name(FailingRuntime::kImpossible);
  auto begin = std::chrono::steady_clock::now();
  // Every one of these wakes whoever makes sandboxes.
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(pool.take(spec, ""));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  pool.stop();
  // Each thread once at most, and after each second less than once.
  const int most = 8 * (1 + static_cast<int>(seconds.count()));
  EXPECT_GT(runtime.impossible, 0);
  EXPECT_LE(runtime.impossible, most);
  EXPECT_GT(runtime.others, 0);
  EXPECT_LE(runtime.others, most);
}

}  // namespace
}  // namespace cove::live
