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
    // The attempt was refused or killed, or the whole sandbox was killed.
    const bool ended = outcome.err.find("exceeded the memory limit") != std::string::npos;
    EXPECT_TRUE(ended || testing::Value(outcome.out, testing::ContainsRegex(name + " (denied|held|killed)")))
        << outcome.out << outcome.err;
  }
};

TEST_P(MemoryBeyondTheLimit, InBuffersOfSockets) { expect_denied("udp_buffers"); }
TEST_P(MemoryBeyondTheLimit, InFilesWithoutAName) { expect_denied("memory_file"); }
TEST_P(MemoryBeyondTheLimit, InSharedMappings) { expect_denied("shared_mapping"); }
TEST_P(MemoryBeyondTheLimit, InBuffersOfUdpLite) { expect_denied("udp_lite_buffers"); }
TEST_P(MemoryBeyondTheLimit, InMappingsThatWereDropped) { expect_denied("dropped_mappings"); }
TEST_P(MemoryBeyondTheLimit, InMappingsThatWereShrunk) { expect_denied("shrunk_mappings"); }
TEST_P(MemoryBeyondTheLimit, InMappingsThatDeadChildrenFilled) { expect_denied("mappings_of_the_dead"); }
TEST_P(MemoryBeyondTheLimit, InMappingsWithAnotherName) { expect_denied("renamed_mappings"); }
TEST_P(MemoryBeyondTheLimit, InMappingsBehindManyOthers) { expect_denied("mappings_behind_others"); }
TEST_P(MemoryBeyondTheLimit, InMappingsOfZeros) { expect_denied("mapping_of_zeros"); }
TEST_P(MemoryBeyondTheLimit, InProcessesNamedLikeAFigure) { expect_denied("named_like_a_figure"); }
TEST_P(MemoryBeyondTheLimit, InSystemVMemory) { expect_denied("system_v_memory"); }
COVE_IN_EVERY_MODE(MemoryBeyondTheLimit);

}  // namespace
}  // namespace cove::test
