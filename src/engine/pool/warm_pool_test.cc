#include "engine/pool/warm_pool.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace cove::engine {
namespace {

// True as soon as it holds.
bool becomes(const std::function<bool()>& true_now) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!true_now()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

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
  config.pool.size = 8;
  config.pool.languages.clear();
  FailingRuntime runtime;
  RoomGauge room("/tmp");
  Languages languages({}, [](const std::string&) { return std::nullopt; }, {}, "/tmp");
  WarmPool pool(config, runtime, room, languages);
  const auto begin = std::chrono::steady_clock::now();
  pool.start();
  SandboxSpec spec;
  spec.limits.processes.name(FailingRuntime::kImpossible);
  // Every one of these wakes those that make sandboxes.
  EXPECT_TRUE(becomes([&] { return !pool.take(spec, "") && runtime.impossible > 0 && runtime.others > 0; }));
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(pool.take(spec, ""));
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  pool.stop();
  // As many at once as there are to be, and again after ten seconds.
  const int turns = 1 + static_cast<int>(took.count()) / 10;
  EXPECT_LE(runtime.impossible, 2 * turns);
  EXPECT_LE(runtime.others, 8 * turns);
}

// How many sandboxes there are of a class with a program of that name in them, "-" for any command.
class Census {
 public:
  void count(const std::string& kind, int change) {
    std::lock_guard lock(mutex_);
    numbers_[kind] += change;
  }
  int of(const SandboxSpec& spec, const std::string& program) {
    std::lock_guard lock(mutex_);
    return numbers_[WarmPool::class_of(spec) + program];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> numbers_;
};

// A sandbox in which every program waits.
class WaitingSandbox : public Sandbox {
 public:
  WaitingSandbox(const SandboxSpec& spec, Census& census) : kind_(WarmPool::class_of(spec)), census_(census) {}
  ~WaitingSandbox() override { census_.count(kind_, -1); }
  Result<Attachment> exec(const ExecSpec& spec) override {
    kind_ += spec.argv.front();
    census_.count(kind_, 1);
    event_ = ExecWaiting{spec.id};
    return Attachment{};
  }
  int events_fd() const override { return news_.get(); }
  Result<std::optional<Event>> next_event() override { return std::exchange(event_, std::nullopt); }

  const EnforcedLimits& enforced() const override { return enforced_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  Result<void> ready() override { return {}; }
  Result<Attachment> attach(const std::string&) override { return nothing(); }
  Result<void> close_input(const std::string&) override { return nothing(); }
  Result<void> give_script(const std::string&, std::string_view) override { return nothing(); }
  Result<void> give_command(const ExecSpec&) override { return nothing(); }
  void forget(const std::string&) override {}
  std::vector<std::string> adopted_execs() const override { return {}; }
  Result<void> signal(const std::string&, int, SignalReach) override { return nothing(); }
  Result<void> resize(const std::string&, WindowSize) override { return nothing(); }
  Result<void> kill(const std::string&) override { return nothing(); }
  Result<void> pause() override { return nothing(); }
  Result<void> resume() override { return nothing(); }
  Result<void> update_limits(const Limits&) override { return nothing(); }
  Result<Stats> stats() override { return nothing(); }
  Result<std::unique_ptr<View>> open_view(const std::string&) override { return nothing(); }
  Result<UniqueFd> dial(uint16_t) override { return nothing(); }
  Result<void> destroy(Files) override { return {}; }

 private:
  static std::unexpected<Error> nothing() { return fail(Code::Unsupported, "there is nothing here"); }

  std::string kind_;
  Census& census_;
  UniqueFd news_{::eventfd(0, EFD_CLOEXEC)};
  std::optional<Event> event_;
  EnforcedLimits enforced_;
  std::vector<std::string> warnings_;
};

// Makes sandboxes until it is told to stop.
class WaitingRuntime : public FailingRuntime {
 public:
  Capabilities capabilities() const override { return {.name = "native", .waiting_scripts = true}; }
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    if (stopped) return fail(Code::Unavailable, "it was told to stop");
    return std::make_unique<WaitingSandbox>(spec, census);
  }

  std::atomic<bool> stopped = false;
  Census census;
};

constexpr const char* kBash = "bash@5.2.15";

class WarmPoolRule : public testing::Test {
 protected:
  WarmPoolRule() {
    config_.pool.size = 8;
    config_.pool.languages = {"bash", "python"};
    default_.lifetime = Lifetime::Long;
    default_.limits = config_.limits;
    default_.limits.disk.value = kDefaultDisk;
  }
  SandboxSpec one_use() const {
    SandboxSpec spec = default_;
    spec.one_use = true;
    spec.limits.disk.value = kDefaultMemoryLayer;
    return spec;
  }
  // Whether the pool comes to hold this many of a class for any command and for bash.
  bool holds(const SandboxSpec& spec, int commands, int bash) {
    return becomes(
        [&] { return runtime_.census.of(spec, "-") == commands && runtime_.census.of(spec, "bash") == bash; });
  }
  static SandboxSpec with_memory(uint64_t bytes) {
    SandboxSpec spec;
    spec.limits.memory.name(bytes);
    return spec;
  }
  bool has(uint64_t ready) {
    return becomes([&] { return pool_.numbers().ready == ready; });
  }
  Config config_;
  SandboxSpec default_;
  WaitingRuntime runtime_;
  RoomGauge room_{"/tmp"};
  Languages languages_{config_.languages, [](const std::string&) { return std::nullopt; },
                       [](const std::string&) -> Result<std::string> { return "0 0 5.2.15\n"; }, ""};
  WarmPool pool_{config_, runtime_, room_, languages_};
};

TEST_F(WarmPoolRule, KeepsTheDefaultClassesInEqualPartsForCommandsAndTheFirstLanguage) {
  pool_.start();
  EXPECT_TRUE(has(8));
  EXPECT_TRUE(holds(default_, 2, 2));
  EXPECT_TRUE(holds(one_use(), 2, 2));
}

TEST_F(WarmPoolRule, KeepsOneEachOfWhatNobodyUses) {
  pool_.start();
  ASSERT_TRUE(has(8));
  EXPECT_TRUE(pool_.take(one_use(), kBash));
  EXPECT_TRUE(holds(one_use(), 1, 5));
  EXPECT_TRUE(holds(default_, 1, 1));
  EXPECT_TRUE(pool_.take(default_, ""));
  EXPECT_TRUE(holds(one_use(), 1, 3));
  EXPECT_TRUE(holds(default_, 3, 1));
}

TEST_F(WarmPoolRule, KeepsAQuarterOfAnotherKindThatIsAskedFor) {
  pool_.start();
  EXPECT_FALSE(pool_.take(with_memory(64 << 20), kBash));
  EXPECT_TRUE(has(10));
  EXPECT_TRUE(holds(with_memory(64 << 20), 0, 2));
  EXPECT_TRUE(holds(default_, 2, 2));
}

TEST_F(WarmPoolRule, KeepsFourOtherKindsAtMost) {
  pool_.start();
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_FALSE(pool_.take(with_memory(i << 26), ""));
  ASSERT_TRUE(has(16));
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(holds(with_memory(i << 26), 2, 0)) << i;
  EXPECT_TRUE(holds(with_memory(5 << 26), 0, 0));
}

TEST_F(WarmPoolRule, TakesTheNextUseToBeLikeTheLast) {
  pool_.start();
  auto next = [this]() -> std::string {
    EXPECT_TRUE(becomes([this] { return pool_.numbers().ready >= 8; }));
    std::optional<Blank> taken = pool_.take(default_, std::nullopt);
    return taken ? taken->language : "none";
  };
  EXPECT_EQ(next(), "");
  pool_.count_first_use(WarmPool::class_of(default_), kBash);
  EXPECT_EQ(next(), kBash);
  pool_.count_first_use(WarmPool::class_of(default_), "");
  EXPECT_EQ(next(), "");
  // What waits for a language that is not known is what takes any command.
  pool_.count_first_use(WarmPool::class_of(default_), "perl@5");
  EXPECT_EQ(next(), "");
}

TEST_F(WarmPoolRule, GivesAnyOfTheClassBeforeNone) {
  pool_.start();
  ASSERT_TRUE(has(8));
  runtime_.stopped = true;
  EXPECT_EQ(pool_.take(default_, kBash)->language, kBash);
  EXPECT_EQ(pool_.take(default_, kBash)->language, kBash);
  EXPECT_EQ(pool_.take(default_, kBash)->language, "");
  while (pool_.take(default_, kBash)) continue;
  EXPECT_TRUE(holds(one_use(), 1, 1));
}

TEST_F(WarmPoolRule, KeepsNothingOfAnImageThatIsRemoved) {
  SandboxSpec spec;
  spec.image = "some@sha256:abc";
  pool_.start();
  EXPECT_FALSE(pool_.take(spec, ""));
  ASSERT_TRUE(has(10));
  pool_.forget_image("sha256:abc");
  EXPECT_EQ(pool_.numbers().ready, 8u);
}

}  // namespace
}  // namespace cove::engine
