#pragma once

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "security/host.h"
#include "security/walls.h"

namespace cove::test {

// What must come of an attempt. Each field lists what is right, separated by '|': an error ("EPERM"), "absent",
// "held" or "done" (see tests/testees/testee.h). An empty field means: the same as for the user.
struct Expectation {
  const char* name;
  const char* user;
  const char* root = "";
  // Rootless without subordinate ids, user and root inside are one and the same identity.
  const char* user_single_id = "";
  // The limit that holds it off: it is not judged where Cove tells that nothing holds this limit.
  const char* limit = "";
};

// A testee, and what must come of each of its attempts.
struct Theme {
  const char* testee;
  std::span<const Expectation> expectations;
  std::vector<std::string> options = {};  // of `cove run`
  std::vector<std::string> command = {};  // where it is not just "testee all"
};

// All attempts of a theme in one sandbox; run once for each mode, and kept.
struct Batch {
  Outcome outcome;
  std::map<std::string, std::string> lines;  // attempt → what came of it
  HostState before;
  HostState after;
};
const Batch& batch(const Theme& theme, Mode mode);

struct AttemptCase {
  const Theme* theme;
  const Expectation* expectation;
};
std::vector<AttemptCase> cases(const Theme& theme);
void PrintTo(const AttemptCase& test, std::ostream* out);

// One attempt in one mode.
class Attempts : public testing::TestWithParam<std::tuple<AttemptCase, Mode>> {
 protected:
  void SetUp() override { COVE_NEEDS_MODE(std::get<Mode>(GetParam()).outside); }
};
std::string attempt_name(const testing::TestParamInfo<Attempts::ParamType>& test);

#define COVE_ATTEMPTS(name, theme)                                                                             \
  INSTANTIATE_TEST_SUITE_P(name, Attempts,                                                                     \
                           testing::Combine(testing::ValuesIn(cases(theme)), testing::ValuesIn(every_mode())), \
                           attempt_name)

}  // namespace cove::test
