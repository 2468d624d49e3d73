// One sandbox takes all that it gets of what the kernel has only so much of: enough is left for others.
#include <gmock/gmock.h>

#include "security/host.h"
#include "security/walls.h"

namespace cove::test {
namespace {

constexpr const char* kProgram = "/tmp/testee-exhaust";

class Exhaustion : public InEveryMode {};

std::vector<std::string> check_on_host(Outside outside) {
  const std::string program = build_folder() + "/testee-exhaust";
  if (outside == Outside::Root) return {program, "check"};
  const unsigned id = outside == Outside::Rootless ? Host::kOrdinary : Host::kSubordinate;
  return {"setpriv", "--reuid", std::to_string(id), "--regid", std::to_string(id), "--clear-groups", program, "check"};
}

TEST_P(Exhaustion, LeavesEnoughForTheHostAndForNeighbours) {
  Running greedy({GetParam(), {}, {"exhaust"}, {kProgram, "stay"}});
  const std::string taken = greedy.read_line();
  ASSERT_THAT(taken, testing::EndsWith("ready"));
  EXPECT_EQ(run(check_on_host(GetParam().outside)).out, "enough of all\n") << taken;
  Outcome neighbour = inside({"exhaust"}, {kProgram, "check"});
  EXPECT_EQ(neighbour.out, "enough of all\n") << taken << neighbour.err;
  EXPECT_THAT(taken, testing::HasSubstr("aio 0 ENOSYS"));
  EXPECT_EQ(greedy.finish(), 0);
}
COVE_IN_EVERY_MODE(Exhaustion);

}  // namespace
}  // namespace cove::test
