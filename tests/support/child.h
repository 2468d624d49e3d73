#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cove::test {

// A program run by a test, from its start to its end.
struct ChildOptions {
  std::string input;
  std::vector<std::string> env;  // KEY=VALUE on top of this process's
  std::optional<unsigned> uid;   // run as this user and group, without further groups
  std::string cwd;
  std::chrono::milliseconds patience{60'000};  // then it is killed and the test fails
};

struct Outcome {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out;
  std::string err;
  bool timed_out = false;
};

Outcome run(const std::vector<std::string>& argv, const ChildOptions& options = {});

// The folder of the test program, where `cove` and the others are too.
std::string build_folder();
// `cove ARGS…` of that folder.
Outcome cove(std::vector<std::string> args, const ChildOptions& options = {});

// Whether a test that needs root can run; where not, it is skipped, or fails under COVE_TEST_STRICT=1.
bool is_root();
#define COVE_NEEDS_ROOT()                                                            \
  do {                                                                               \
    if (!::cove::test::is_root()) {                                                  \
      if (::getenv("COVE_TEST_STRICT")) FAIL() << "this test needs root";            \
      GTEST_SKIP() << "this test needs root: it makes control groups and id ranges"; \
    }                                                                                \
  } while (false)

// All that a sandbox could leave behind on this machine; equal before and after.
struct Traces {
  std::vector<std::string> mounts;
  std::vector<std::string> groups;
  std::vector<std::string> processes;
  std::vector<std::string> loops;
  std::vector<std::string> files;
  bool operator==(const Traces&) const = default;
};
Traces find_traces();
std::string describe(const Traces& traces);
// Waits until there is none but those of `before`; those and what is left otherwise.
Traces wait_for_traces(const Traces& before, std::chrono::milliseconds patience = std::chrono::milliseconds(5000));

}  // namespace cove::test
