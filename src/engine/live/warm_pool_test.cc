#include "engine/live/warm_pool.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

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

// A sandbox in which every program waits, but none goes on as a copy.
class WaitingSandbox : public Sandbox {
 public:
  explicit WaitingSandbox(std::atomic<int>& copies) : copies_(copies), news_(::eventfd(0, EFD_CLOEXEC)) {}

  Result<Attachment> exec(const ExecSpec& spec) override { return say(ExecWaiting{spec.id}); }
  Result<UniqueFd> copy_waiting(const std::string&, std::string_view) override {
    return UniqueFd(::memfd_create("copy", MFD_CLOEXEC));
  }
  Result<Attachment> exec_copy(const ExecSpec& spec, const UniqueFd& copy) override {
    EXPECT_TRUE(copy);
    ++copies_;
    return say(ExecEnded{.exec_id = spec.id});
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
  Attachment say(Event event) {
    event_ = std::move(event);
    return {};
  }

  std::atomic<int>& copies_;
  UniqueFd news_;
  std::optional<Event> event_;
  EnforcedLimits enforced_;
  std::vector<std::string> warnings_;
};

class WaitingRuntime : public FailingRuntime {
 public:
  Capabilities capabilities() const override { return {.name = "native", .waiting_scripts = true, .copies = true}; }
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec&) override {
    return std::make_unique<WaitingSandbox>(copies);
  }

  std::atomic<int> copies = 0;
};

TEST(WarmPool, StartsWhatCannotGoOnAsACopy) {
  Config config;
  config.pool.size = 1;
  config.pool.languages = {"bash"};
  config.runtime = "runc";  // so that it keeps none that nobody asks for
  WaitingRuntime runtime;
  RoomGauge room("/tmp");
  auto says = [](const std::string&) -> Result<std::string> { return "0 0 5.2.15\n"; };
  Languages languages(config.languages, [](const std::string&) { return std::nullopt; }, says, "");
  WarmPool pool(config, runtime, room, languages);
  pool.start();
  SandboxSpec spec;
  const std::string language = "bash@5.2.15";
  const std::string class_name = WarmPool::class_of(spec);
  int interpreters = 0;
  for (int i = 0; i < 400 && interpreters < 100; ++i) {
    std::optional<Blank> blank = pool.take(spec, language);
    pool.count_first_use(class_name, language);
    if (blank && blank->language == language) {
      ++interpreters;
      EXPECT_FALSE(blank->copied);
      EXPECT_TRUE(blank->script.ends_with(".sh"));
    }
    pool.go_on();
    // Now and then he finds none, and there is a shortage.
    if (i % 4 != 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pool.stop();
  EXPECT_EQ(interpreters, 100);
  // It was tried, by as many as were at work when it was found out; then no more.
  EXPECT_GT(runtime.copies, 0);
  EXPECT_LE(runtime.copies, 10);
  EXPECT_EQ(pool.numbers().copies, 0u);
}

}  // namespace
}  // namespace cove::live
