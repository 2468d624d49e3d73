// Memory beyond the limit, by all the ways that are easily forgotten.
#include <gmock/gmock.h>

#include "security/walls.h"

namespace cove::test {
namespace {

class MemoryBeyondTheLimit : public InEveryMode {
 protected:
  // Rootless, without control groups, there is the default of 2 GiB only.
  Outcome attempt(const std::string& name) const {
    const bool root = GetParam().outside == Outside::Root;
    std::vector<std::string> options = {"-e", root ? "MOST=90" : "MOST=2300"};
    if (root) options.insert(options.end(), {"-m", "64m"});
    return inside({"memory"}, {"/tmp/testee-memory", name}, options);
  }
  void expect_denied(const std::string& name) const {
    Outcome outcome = attempt(name);
    EXPECT_THAT(outcome.out, testing::Not(testing::HasSubstr("done"))) << outcome.err;
    // The attempt was told no or killed, or the sandbox was ended as a whole.
    EXPECT_THAT(outcome.out + outcome.err, testing::ContainsRegex("denied|held|killed|memory limit|out of memory"));
  }
};

TEST_P(MemoryBeyondTheLimit, InBuffersOfSockets) { expect_denied("udp_buffers"); }
TEST_P(MemoryBeyondTheLimit, InFilesWithoutAName) { expect_denied("memory_file"); }
TEST_P(MemoryBeyondTheLimit, InSharedMappings) { expect_denied("shared_mapping"); }
TEST_P(MemoryBeyondTheLimit, InSystemVMemory) { expect_denied("system_v_memory"); }
COVE_IN_EVERY_MODE(MemoryBeyondTheLimit);

}  // namespace
}  // namespace cove::test
