#include "engine/pool/warm_pool.h"

#include <atomic>
#include <set>
#include <thread>

#include "engine/testing.h"

namespace cove::engine {
namespace {

constexpr const char* kBash = "bash@5.2.15";
// By then its threads have looked at everything.
constexpr milliseconds kLook(1300);

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
  static SandboxSpec with_memory(uint64_t bytes) {
    SandboxSpec spec;
    spec.limits.memory.name(bytes);
    return spec;
  }
  // How many wait in sandboxes of that class with that program, "-" for any command.
  int count(const SandboxSpec& spec, const std::string& program) const {
    return static_cast<int>(std::ranges::count_if(machine_.waiting(), [&](const auto& each) {
      return WarmPool::class_of(each.spec) == WarmPool::class_of(spec) && each.program == program;
    }));
  }
  // Its threads look again, for what was only just being made when they did.
  bool comes_to(const std::function<bool()>& state) {
    for (int i = 0; i < 100; ++i) {
      clock_.move(kLook);
      if (becomes(state, milliseconds(100))) return true;
    }
    return false;
  }
  // Whether the pool comes to hold this many of a class for any command and for bash.
  bool holds(const SandboxSpec& spec, int commands, int bash) {
    return comes_to([&] {
      const bool all_kept = pool_.numbers().ready == machine_.running().size();
      return all_kept && count(spec, "-") == commands && count(spec, "bash") == bash;
    });
  }
  bool has(uint64_t ready) {
    return comes_to([&] { return pool_.numbers().ready == ready; });
  }
  // Takes one and ends it; what waited in it, or "none".
  std::string use(const SandboxSpec& spec, const std::optional<std::string>& first_use) {
    std::optional<Blank> taken = pool_.take(spec, first_use);
    if (!taken) return "none";
    EXPECT_OK(taken->handle->destroy(Files::Remove));
    return taken->language;
  }

  Config config_;
  SandboxSpec default_;
  fake::FakeClock clock_;
  fake::FakeMachine machine_{clock_};
  std::unique_ptr<Runtime> runtime_ = machine_.runtime();
  std::atomic<uint64_t> available_ = 50;  // of a hundred parts
  RoomGauge room_{"/", clock_, [this](const std::string&) {
                    return MachineRoom{.memory = 100 * kGiB, .memory_available = available_ * kGiB};
                  }};
  Languages languages_{config_.languages, [](const std::string&) { return std::nullopt; },
                       [](const std::string&) -> Result<std::string> { return "0 0 5.2.15\n"; }, ""};
  WarmPool pool_{config_, *runtime_, room_, languages_, clock_};
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
  EXPECT_EQ(use(one_use(), kBash), kBash);
  EXPECT_TRUE(holds(one_use(), 1, 5));
  EXPECT_TRUE(holds(default_, 1, 1));
  EXPECT_EQ(use(default_, ""), "");
  EXPECT_TRUE(holds(one_use(), 1, 3));
  EXPECT_TRUE(holds(default_, 3, 1));
}

TEST_F(WarmPoolRule, ForgetsAfterTenMinutesWhatWasUsed) {
  pool_.start();
  ASSERT_TRUE(has(8));
  use(default_, kBash);
  EXPECT_TRUE(holds(default_, 1, 5));
  clock_.move(minutes(9));
  EXPECT_TRUE(holds(default_, 1, 5));
  clock_.move(minutes(1));
  EXPECT_TRUE(holds(default_, 2, 2));
}

TEST_F(WarmPoolRule, KeepsAQuarterOfAnotherKindThatIsAskedFor) {
  pool_.start();
  EXPECT_EQ(use(with_memory(64 << 20), kBash), "none");
  EXPECT_TRUE(has(10));
  EXPECT_TRUE(holds(with_memory(64 << 20), 0, 2));
  EXPECT_TRUE(holds(default_, 2, 2));
}

TEST_F(WarmPoolRule, KeepsFourOtherKindsAtMost) {
  pool_.start();
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(use(with_memory(i << 26), ""), "none");
  ASSERT_TRUE(has(16));
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(holds(with_memory(i << 26), 2, 0)) << i;
  EXPECT_TRUE(holds(with_memory(5 << 26), 0, 0));
}

TEST_F(WarmPoolRule, MakesRoomForAFifthKindWhenOneIsNoLongerAskedFor) {
  pool_.start();
  for (uint64_t i = 1; i <= 4; ++i) use(with_memory(i << 26), "");
  ASSERT_TRUE(has(16));
  clock_.move(minutes(10));
  ASSERT_TRUE(has(8)) << "nobody asks for any of them any more";
  use(with_memory(5 << 26), "");
  EXPECT_TRUE(holds(with_memory(5 << 26), 2, 0));
}

TEST_F(WarmPoolRule, TakesTheNextUseToBeLikeTheLast) {
  pool_.start();
  auto next = [this] {
    clock_.move(kLook);
    EXPECT_TRUE(becomes([this] { return pool_.numbers().ready >= 8; }));
    return use(default_, std::nullopt);
  };
  EXPECT_EQ(next(), "");
  clock_.move(milliseconds(1));
  pool_.count_first_use(WarmPool::class_of(default_), kBash);
  EXPECT_EQ(next(), kBash);
  clock_.move(milliseconds(1));
  pool_.count_first_use(WarmPool::class_of(default_), "");
  EXPECT_EQ(next(), "");
  // What waits for a language that is not known is what takes any command.
  pool_.count_first_use(WarmPool::class_of(default_), "perl@5");
  EXPECT_EQ(next(), "");
}

TEST_F(WarmPoolRule, GivesAnyOfTheClassBeforeNone) {
  pool_.start();
  ASSERT_TRUE(has(8));
  machine_.refuse_creation(Error(Code::Unavailable, "enough"));
  EXPECT_EQ(use(default_, kBash), kBash);
  EXPECT_EQ(use(default_, kBash), kBash);
  EXPECT_EQ(use(default_, kBash), "");
  EXPECT_EQ(use(default_, kBash), "");
  EXPECT_EQ(use(default_, kBash), "none");
  EXPECT_EQ(use(one_use(), kBash), kBash) << "the other class is as it was";
}

TEST_F(WarmPoolRule, MakesHalfAtOnceAndTheRestAMomentLater) {
  pool_.start();
  ASSERT_TRUE(has(8));
  const size_t before = machine_.created();
  ASSERT_EQ(use(default_, kBash), kBash);
  // Of bash there are to be five now, and one is left.
  EXPECT_TRUE(becomes([&] { return machine_.created() == before + 2; }));
  clock_.advance(milliseconds(19));
  EXPECT_EQ(machine_.created(), before + 2);
  clock_.move(milliseconds(1));
  EXPECT_TRUE(becomes([&] { return machine_.created() == before + 4; }));
}

TEST_F(WarmPoolRule, KeepsNothingWhileMemoryIsShort) {
  pool_.start();
  ASSERT_TRUE(has(8));
  available_ = 9;
  EXPECT_TRUE(has(0));
  EXPECT_TRUE(becomes([this] { return machine_.remains().empty(); }));
  EXPECT_EQ(use(default_, ""), "none");
  available_ = 11;
  EXPECT_TRUE(has(8));
}

TEST_F(WarmPoolRule, NeverTakesBackWhatItGave) {
  pool_.start();
  ASSERT_TRUE(has(8));
  std::optional<Blank> mine = pool_.take(default_, "");
  ASSERT_TRUE(mine);
  available_ = 1;
  ASSERT_TRUE(has(0));
  pool_.forget_image("host");
  pool_.stop();
  EXPECT_THAT(machine_.running(), ElementsAre(mine->spec.id));
}

TEST_F(WarmPoolRule, GivesEachOneOnce) {
  pool_.start();
  ASSERT_TRUE(has(8));
  std::mutex mutex;
  std::set<std::string> ids;
  size_t taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        std::optional<Blank> blank = pool_.take(default_, "");
        if (!blank) continue;
        std::lock_guard lock(mutex);
        ++taken;
        ids.insert(blank->spec.id);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(taken, 4u);
  EXPECT_EQ(ids.size(), taken);
}

TEST_F(WarmPoolRule, DoesNotGiveWhatHasEndedMeanwhile) {
  pool_.start();
  ASSERT_TRUE(has(8));
  machine_.refuse_creation(Error(Code::Unavailable, "enough"));
  for (const std::string& id : machine_.running()) machine_.end_process_one(id);
  EXPECT_EQ(use(default_, ""), "none");
  EXPECT_EQ(use(one_use(), ""), "none");
  EXPECT_TRUE(becomes([this] { return machine_.remains().empty(); })) << "and clears up what is left of it";
}

TEST_F(WarmPoolRule, TriesWhatCannotBeMadeEveryTenSeconds) {
  config_.pool.languages.clear();
  machine_.refuse_creation(Error(Code::Internal, "no sandbox can be made"));
  pool_.start();
  // As many at once as there are to be.
  EXPECT_TRUE(becomes([this] { return machine_.attempts() >= 2 && clock_.waiting() >= 2; }));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(use(default_, ""), "none");
  clock_.advance(seconds(9));
  const size_t first = machine_.attempts();
  EXPECT_LE(first, 8u);
  clock_.move(seconds(1));
  EXPECT_TRUE(becomes([&] { return machine_.attempts() > first; }));
  machine_.refuse_creation(std::nullopt);
  clock_.move(seconds(10));
  EXPECT_TRUE(becomes([this] { return pool_.numbers().ready > 0; }));
}

TEST_F(WarmPoolRule, KeepsNothingOfAnImageThatIsRemoved) {
  SandboxSpec spec;
  spec.image = "some@sha256:abc";
  pool_.start();
  EXPECT_EQ(use(spec, ""), "none");
  ASSERT_TRUE(has(10));
  pool_.forget_image("sha256:abc");
  EXPECT_EQ(pool_.numbers().ready, 8u);
  EXPECT_EQ(machine_.running().size(), 8u);
}

TEST_F(WarmPoolRule, LeavesNothingBehind) {
  pool_.start();
  ASSERT_TRUE(has(8));
  pool_.stop();
  EXPECT_THAT(machine_.remains(), IsEmpty());
}

TEST_F(WarmPoolRule, KeepsNothingWhereItsSizeIsZero) {
  config_.pool.size = 0;
  pool_.start();
  EXPECT_EQ(use(default_, ""), "none");
  clock_.move(kLook);
  EXPECT_EQ(machine_.attempts(), 0u);
}

// What differs in anything that a sandbox has from its making is of another class, or of none.
TEST(WarmPoolClass, NeverMixesSandboxesThatAreMadeDifferently) {
  using Change = void (*)(SandboxSpec&);
  const Change changes[] = {[](SandboxSpec&) {},
                            [](SandboxSpec& s) { s.image = "python@sha256:0"; },
                            [](SandboxSpec& s) { s.user = "root"; },
                            [](SandboxSpec& s) { s.strictness = Strictness::Strict; },
                            [](SandboxSpec& s) { s.one_use = true; },
                            [](SandboxSpec& s) { s.limits.cpus.value = 2; },
                            [](SandboxSpec& s) { s.limits.memory.value = 1; },
                            [](SandboxSpec& s) { s.limits.memory.named = true; },
                            [](SandboxSpec& s) { s.limits.disk.value = 1; },
                            [](SandboxSpec& s) { s.limits.inodes.value = 1; },
                            [](SandboxSpec& s) { s.limits.processes.value = 1; },
                            [](SandboxSpec& s) { s.limits.open_files.value = 1; },
                            [](SandboxSpec& s) { s.limits.file_size.value = 1; },
                            [](SandboxSpec& s) { s.limits.io_read.value = 1; },
                            [](SandboxSpec& s) { s.limits.io_write.value = 1; }};
  std::set<std::string> classes;
  for (Change change : changes) {
    SandboxSpec spec;
    change(spec);
    classes.insert(WarmPool::class_of(spec));
  }
  EXPECT_EQ(classes.size(), std::size(changes));
  EXPECT_FALSE(classes.contains(""));
}

TEST(WarmPoolClass, NoneIsKeptOfWhatIsMadeForOneCallerAlone) {
  using Change = void (*)(SandboxSpec&);
  const Change changes[] = {[](SandboxSpec& s) { s.name = "web"; },
                            [](SandboxSpec& s) { s.workspace = {"/srv/a", Access::ReadOnly}; },
                            [](SandboxSpec& s) { s.nesting = true; }, [](SandboxSpec& s) { s.runtime = "runc"; }};
  for (Change change : changes) {
    SandboxSpec spec;
    change(spec);
    EXPECT_EQ(WarmPool::class_of(spec), "");
  }
}

class EngineWithPool : public EngineTest {
 protected:
  EngineWithPool() {
    config_.pool.size = 4;
    config_.pool.languages.clear();
  }
  void open_filled() {
    open();
    clock_->move(kLook);
    ASSERT_TRUE(becomes([this] { return engine().counts().pool.ready == 4; }));
  }
};

TEST_F(EngineWithPool, ASandboxComesFromThePool) {
  open_filled();
  const std::vector<std::string> ready = machine_.running();
  CreateOrder order;
  order.spec.labels = {{"team", "a"}};
  order.spec.env = {{"A", "mine"}};
  SandboxInfo made = create(order);
  EXPECT_THAT(ready, testing::Contains(made.spec.id));
  EXPECT_EQ(made.spec.labels.at("team"), "a");
  EXPECT_EQ(run(made.spec.id, {"show-variable", "A"}).out, "mine") << "the first, which has waited";
  EXPECT_EQ(run(made.spec.id, {"show-variable", "A"}).out, "mine") << "the second";
  EXPECT_EQ(engine().counts().pool.taken, 1u);
}

TEST_F(EngineWithPool, OneWithANameOfItsOwnIsMadeAnew) {
  open_filled();
  const std::vector<std::string> ready = machine_.running();
  CreateOrder order;
  order.spec.name = "web";
  EXPECT_THAT(ready, testing::Not(testing::Contains(create(order).spec.id)));
}

TEST_F(EngineWithPool, TheFirstExecHasItsInputLikeAnyOther) {
  open_filled();
  const std::string id = create().spec.id;
  EXPECT_EQ(run(id, {"echo-input"}, [](ExecOrder& order) { order.input = "given"; }).out, "given");
}

TEST_F(EngineWithPool, WhatAKilledServerKeptReadyIsSweptAway) {
  open_filled();
  const std::string mine = create().spec.id;
  clock_->move(kLook);
  ASSERT_TRUE(becomes([this] { return engine().counts().pool.ready == 4; }));
  crash();
  config_.pool.size = 0;
  open();
  EXPECT_THAT(machine_.remains(), ElementsAre(mine));
  EXPECT_EQ(run(mine, {"print", "still there"}).out, "still there");
}

TEST_F(EngineWithPool, AnOrderlyEndLeavesNothingReady) {
  open_filled();
  const std::string mine = create().spec.id;
  close();
  EXPECT_THAT(machine_.remains(), ElementsAre(mine));
}

}  // namespace
}  // namespace cove::engine
