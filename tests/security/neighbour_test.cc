// Two sandboxes at once: neither finds anything of the other.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "security/walls.h"

namespace cove::test {
namespace {

using ::testing::UnorderedElementsAre;

// The process's number on the host: what an attacker who could see it would aim at.
std::string find_on_host(const std::string& command) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line;
    if (std::getline(file, line, '\0') && line == command && std::getline(file, line, '\0') && line == "stay")
      return entry.path().filename();
  }
  return "";
}

class Neighbours : public InEveryMode {};

TEST_P(Neighbours, FindNothingOfEachOther) {
  std::string program = "/tmp/testee-neighbour";
  Running first({GetParam(), {}, {"neighbour"}, {program, "stay"}});
  ASSERT_THAT(first.read_line(), testing::StartsWith("ready"));
  std::string pid = find_on_host(program);
  ASSERT_NE(pid, "");
  Outcome second = inside({"neighbour"}, {program, "all"}, {"-e", "NEIGHBOUR=" + pid});
  EXPECT_THAT(split(trim(second.out), '\n'),
              UnorderedElementsAre("tmp absent", "shared_memory_file absent", "home absent", "var_tmp absent",
                                   "lock absent", "abstract_socket denied ECONNREFUSED", "port denied ECONNREFUSED",
                                   "system_v_memory absent", "system_v_semaphore absent", "message_queue absent",
                                   "signal denied ESRCH", "open_process denied ESRCH"))
      << second.err;
  EXPECT_EQ(first.finish(), 0) << "the neighbour was harmed";
}
COVE_IN_EVERY_MODE(Neighbours);

}  // namespace
}  // namespace cove::test
