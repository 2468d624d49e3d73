#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/child.h"

namespace cove::test {

// Who runs Cove in a test: root, or an ordinary user with a home of his own. A test run by an ordinary user has only
// himself.
struct Person {
  std::string name;
  ChildOptions options;
};
std::vector<Person> people();

// Tests that hold for everybody: `cove(…)` runs as the person.
class ForEverybody : public testing::TestWithParam<Person> {
 protected:
  Outcome cove(std::vector<std::string> args, const std::string& input = {}) const;
  bool rootless() const { return GetParam().options.uid.has_value() || !is_root(); }
  // A folder of the person's, gone after the test.
  std::string folder();
  void TearDown() override;

 private:
  std::vector<std::string> folders_;
};

#define COVE_FOR_EVERYBODY(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(As, suite, testing::ValuesIn(::cove::test::people()), \
                           [](const auto& test) { return test.param.name; })

}  // namespace cove::test
