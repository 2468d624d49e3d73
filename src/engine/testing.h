#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/network/testing.h"
#include "engine/session/sessions.h"
#include "runtime/fake/fake_machine.h"
#include "sys/testing.h"

namespace cove::engine {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Waits for what other threads do.
bool becomes(const std::function<bool()>& true_now, milliseconds patience = seconds(20));

#define EXPECT_CODE(wanted, ...)                                                                              \
  do {                                                                                                        \
    auto&& code_result = (__VA_ARGS__);                                                                       \
    if (code_result)                                                                                          \
      ADD_FAILURE() << "it did not fail";                                                                     \
    else                                                                                                      \
      EXPECT_EQ(code_name((wanted)), code_name(code_result.error().code())) << code_result.error().message(); \
  } while (false)

// Of what failed; of what did not, a text that no test expects.
template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "(it did not fail)" : result.error().message();
}
template <typename T>
std::string hint_of(const Result<T>& result) {
  return result ? "(it did not fail)" : result.error().hint();
}

// How an exec ended, as its result says.
struct Outcome {
  std::string status;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string out;
  std::string err;
  std::string why;
  std::string phase;
  double duration_ms = 0;
};
Outcome outcome_of(const ExecInfo& exec);

// A folder that goes with it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An engine with its sessions over a machine in memory and a clock that is moved by hand. Its threads do their work
// before `advance` returns.
class EngineTest : public testing::Test {
 protected:
  EngineTest();
  ~EngineTest() override;

  // With `config` as it is by then. Each test opens it itself, or has it opened by the first use.
  void open();
  Result<void> try_open();
  // As an orderly server ends.
  void close();
  // As kill -9 ends it; `open` starts the next one on what was on record at this moment.
  void crash();
  Engine& engine();
  Sessions& sessions();
  void advance(milliseconds by) { clock_->advance(by); }

  static Caller caller(const std::string& project = kDefaultProject);
  SandboxInfo create(CreateOrder order = {}, const std::string& project = kDefaultProject);
  SandboxInfo find(const std::string& sandbox);  // state Deleting where it is gone
  State state_of(const std::string& sandbox) { return find(sandbox).state; }
  bool exists(const std::string& sandbox) { return engine().find(caller(), sandbox).has_value(); }

  using Edit = std::function<void(ExecOrder&)>;
  std::shared_ptr<Exec> start_exec(const std::string& sandbox, std::vector<std::string> words, const Edit& edit = {});
  Outcome run(const std::string& sandbox, std::vector<std::string> words, const Edit& edit = {});
  static Outcome wait_for(Exec& exec);
  // What the store says of an exec.
  Outcome recorded(const std::string& sandbox, const std::string& exec);
  // All of its output, as a follower gets it.
  static std::string followed(Exec& exec, uint64_t from = 1);
  // Until it has written that.
  static bool has_printed(Exec& exec, const std::string& text);
  std::vector<std::string> event_kinds(const std::string& sandbox);

  std::shared_ptr<fake::FakeClock> clock_ = std::make_shared<fake::FakeClock>();
  fake::FakeMachine machine_{*clock_};
  std::shared_ptr<FakeNet> net_ = std::make_shared<FakeNet>();  // of the present server
  Config config_;
  MachineRoom room_;  // what the machine has left, by its own account

 private:
  TestFolder folder_;
  int life_ = 1;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Sessions> sessions_;
};

}  // namespace cove::engine
