// Terminals: the sandbox's own, and the caller's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "security/attempts.h"

namespace cove::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Expectation kTerminalExpectations[] = {
    {"tiocsti", "EPERM"},        {"tiocsti_with_high_bits", "EPERM"},   {"tiocsti_with_sign_bits", "EPERM"},
    {"tioclinux", "EPERM"},      {"tioclinux_with_high_bits", "EPERM"}, {"tioccons", "EPERM"},
    {"steal_terminal", "EPERM"},
};

const Theme kTerminal{"terminal", kTerminalExpectations};
COVE_ATTEMPTS(Terminal, kTerminal);

class CallersTerminal : public InEveryMode {};

// With -t the program has a terminal of the sandbox's own, beside the caller's: it can type into neither.
TEST_P(CallersTerminal, CannotBeTypedInto) {
  std::vector<std::string> words = command_line(
      {GetParam(), {"-it"}, {"terminal"}, {"/tmp/testee-terminal", "tiocsti", "tioclinux", "tiocsti_with_high_bits"}});
  int terminal = -1;
  pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(99);
  }
  std::string output;
  char buffer[4096];
  for (ssize_t size; (size = ::read(terminal, buffer, sizeof buffer)) > 0;)
    output.append(buffer, static_cast<size_t>(size));
  ::waitpid(pid, nullptr, 0);
  ::close(terminal);
  EXPECT_THAT(output, HasSubstr("tiocsti denied EPERM"));
  EXPECT_THAT(output, HasSubstr("tioclinux denied EPERM"));
  EXPECT_THAT(output, HasSubstr("tiocsti_with_high_bits denied EPERM"));
  EXPECT_THAT(output, Not(HasSubstr("done")));
}
COVE_IN_EVERY_MODE(CallersTerminal);

}  // namespace
}  // namespace cove::test
