// A hostile process at the door of process 1.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kChannelExpectations[] = {
    {"garbage", "held"},
    {"truncated", "held"},
    {"huge_lengths", "held"},
    {"message_too_long", "held"},
    {"many_descriptors", "held"},
    {"no_descriptors", "held"},
    {"control_messages", "held"},
    {"request_in_pipe", "held"},
    {"huge_memfd", "held"},
    {"changing_memfd", "held"},
    {"thousands_of_connections", "held"},
    {"silent_connections", "held"},
    {"unread_answers", "held"},
    {"strange_signals", "held"},
    {"lifted_limits", "held"},
    {"strange_users", "held"},
};

const Theme kChannel{"channel", kChannelExpectations};
COVE_ATTEMPTS(Channel, kChannel);

class Flood : public InEveryMode {};

// Others are served while it lasts, and the run ends when its program does, not when the flood does.
TEST_P(Flood, DoesNotKeepProcess1FromItsWork) {
  Outcome outcome =
      inside({"channel"}, {"sh", "-c",
                           "/tmp/testee-channel flood >/dev/null & /tmp/testee-channel flood >/dev/null & "
                           "for i in 1 2 3; do sudo id -u; done; exit 7"});
  EXPECT_EQ(outcome.out, "0\n0\n0\n") << outcome.err;
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_FALSE(outcome.timed_out);
}
COVE_IN_EVERY_MODE(Flood);

}  // namespace
}  // namespace cove::test
