// The testees themselves: harmless where they do not belong.
#include <gmock/gmock.h>

#include <filesystem>

#include "support/child.h"

namespace cove::test {
namespace {

TEST(Testee, RefusesToRunOutsideASandbox) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(build_folder())) {
    if (!entry.path().filename().string().starts_with("testee-")) continue;
    for (const char* variable : {"IS_SANDBOX=", "IS_SANDBOX=1"}) {
      ChildOptions options;
      options.env = {variable};
      Outcome outcome = run({entry.path(), "all"}, options);
      EXPECT_EQ(outcome.exit_code, 99) << entry.path();
      EXPECT_EQ(outcome.out, "");
    }
    ++count;
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace cove::test
