#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/child.h"

namespace cove::test {

// Who runs Cove: root, an ordinary user, or one with subordinate ids (uidmap).
enum class Outside { Root, Rootless, Subordinate };
// Who the hostile program is inside.
enum class Inside { User, Root };

struct Mode {
  Outside outside;
  Inside inside;
  auto operator<=>(const Mode&) const = default;
};
std::vector<Mode> every_mode();
std::string mode_name(Mode mode);
void PrintTo(Mode mode, std::ostream* out);

// Why a mode cannot be tried on this machine; empty where it can.
std::string why_not(Outside outside);

// Why that person cannot use the runtime under test (COVE_TEST_RUNTIME), as `cove doctor` tells him; empty where he
// can.
std::string why_not_runtime(Outside outside);

// Skips the test where its mode cannot be tried, or fails it under COVE_TEST_STRICT=1; skips what the runtime itself
// says that it cannot do.
#define COVE_NEEDS_MODE(outside)                                                                     \
  do {                                                                                               \
    if (std::string why = ::cove::test::why_not(outside); !why.empty()) {                            \
      if (::getenv("COVE_TEST_STRICT")) FAIL() << why;                                               \
      GTEST_SKIP() << why;                                                                           \
    }                                                                                                \
    if (std::string why = ::cove::test::why_not_runtime(outside); !why.empty()) GTEST_SKIP() << why; \
  } while (false)

// What is run in a sandbox: `cove run OPTIONS -u … --copy-in TESTEES:/tmp/… -- COMMAND`.
struct Order {
  Mode mode;
  std::vector<std::string> options;
  std::vector<std::string> testees;  // by theme: "mount" is /tmp/testee-mount inside
  std::vector<std::string> command;
};
std::vector<std::string> command_line(const Order& order);
// Runs it to its end, in a working folder of the host that no sandbox may see, with descriptors of the host's files
// left open.
Outcome run(const Order& order);

// A sandbox that runs while the test goes on; it is ended with the object.
class Running {
 public:
  explicit Running(const Order& order);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // The next line of its output; empty at the end.
  std::string read_line();
  void write_line(const std::string& line);
  // Closes its input and waits for the end.
  int finish();

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

// Tests that are run in every mode.
class InEveryMode : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override { COVE_NEEDS_MODE(GetParam().outside); }
  Outcome inside(std::vector<std::string> testees, std::vector<std::string> command,
                 std::vector<std::string> options = {}) const {
    return run(Order{GetParam(), std::move(options), std::move(testees), std::move(command)});
  }
};
#define COVE_IN_EVERY_MODE(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(SandboxFactory, suite, testing::ValuesIn(::cove::test::every_mode()), \
                           [](const auto& test) { return ::cove::test::mode_name(test.param); })

}  // namespace cove::test
