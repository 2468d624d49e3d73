// Terminals, and what is none: input that ends, terminals that are closed, keys that leave a command.
#include "cli_server_fixture.h"

namespace cove::test {
namespace {

class CliTerminal : public CliServer {
 protected:
  // The window is closed: the terminal's other end goes away.
  static void close_terminal(Running& running) {
    ::close(running.out);
    running.out = -1;
  }
  bool is_running(const std::string& tag) const { return has(cove({"ps", "box"}).out, tag); }
};

TEST_P(CliTerminal, AShellRunsTheCommandsOfAPipe) {
  make("box");
  Outcome piped = cove({"shell", "box"}, "echo in=$IS_SANDBOX; test -t 0 || echo no terminal\n");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_TRUE(has(piped.out, "in=")) << piped.out;
  EXPECT_TRUE(has(piped.out, "no terminal")) << piped.out;
  Outcome failed = cove({"shell", "box"}, "exit 7\n");
  EXPECT_EQ(failed.exit_code, 7);
  Outcome empty = cove({"shell", "box"}, "");
  EXPECT_EQ(empty.exit_code, 0) << empty.err;
}

// bash reads its terminal in a mode in which it misses the first Ctrl-D.
TEST_P(CliTerminal, TheEndOfAPipeEndsATerminalsInput) {
  make("box");
  const std::vector<Words> places = {{"run", "--direct", "-it", "--"}, {"exec", "-it", "box", "--"}};
  for (Words words : places) {
    Words reader = words, shell = words;
    reader.insert(reader.end(), {"cat"});
    shell.insert(shell.end(), {"bash", "--norc"});
    Outcome read = cove(reader, "hello");
    EXPECT_EQ(read.exit_code, 0) << words[0] << read.err;
    EXPECT_TRUE(has(read.out, "hello")) << read.out;
    Outcome typed = cove(shell, "echo sum=$((2+2))\n");
    EXPECT_EQ(typed.exit_code, 0) << words[0] << typed.err;
    EXPECT_TRUE(has(typed.out, "sum=4")) << typed.out;
  }
}

TEST_P(CliTerminal, SigtermEndsAShell) {
  make("box");
  const std::vector<Words> commands = {
      {"shell", "box"}, {"exec", "-it", "box", "bash", "--norc"}, {"run", "--direct", "-it", "--", "bash", "--norc"}};
  for (const Words& words : commands) {
    auto running = start(words, At::Terminal);
    running->type("echo ready=$((1+1))\n");
    running->wait_for("ready=2");
    ::kill(running->pid, SIGTERM);
    running->rest();
    EXPECT_GT(running->wait(), 128) << words[0];
  }
}

TEST_P(CliTerminal, ClosingTheTerminalOfAttachLeavesTheCommandRunning) {
  make("box");
  cove({"exec", "-d", "-t", "--tag", "with", "box", "sh", "-c", "echo shown; exec cat"});
  cove({"exec", "-d", "--tag", "without", "box", "sh", "-c", "echo shown; exec sleep 900"});
  for (const char* tag : {"with", "without"}) {
    auto running = start({"attach", "-a", "box", tag}, At::Terminal);
    running->wait_for("shown");
    close_terminal(*running);
    running->wait();
    EXPECT_TRUE(is_running(tag)) << tag;
  }
  // SIGTERM to what is attached ends neither.
  auto running = start({"attach", "-a", "box", "with"}, At::Terminal);
  running->wait_for("shown");
  ::kill(running->pid, SIGTERM);
  running->wait_for("keeps running");
  EXPECT_EQ(running->wait(), 0);
  EXPECT_TRUE(is_running("with"));
  // Nor does input that ends at once.
  EXPECT_EQ(cove({"kill", "-s", "TERM", "box", "without"}).exit_code, 0);
}

TEST_P(CliTerminal, AttachTakesOnlyWhatRuns) {
  make("box");
  EXPECT_EQ(cove({"exec", "--tag", "done", "box", "sh", "-c", "echo printed; exit 5"}).exit_code, 5);
  Outcome ended = cove({"attach", "box", "done"});
  EXPECT_EQ(ended.exit_code, 125);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(has(ended.err, "has ended")) << ended.err;
  EXPECT_TRUE(has(ended.err, "cove logs box")) << ended.err;
  EXPECT_TRUE(has(cove({"attach", "box"}).err, "no command is running")) << ended.err;
  Outcome all = cove({"attach", "-a", "box", "done"});
  EXPECT_EQ(all.out, "printed\n");
  EXPECT_EQ(all.exit_code, 5);
}

TEST_P(CliTerminal, DetachKeysLeaveAnExecRunning) {
  make("box");
  auto running = start({"exec", "-it", "--tag", "left", "box", "sh"}, At::Terminal);
  running->type("echo first=$((1+1))\n");
  running->wait_for("first=2");
  running->type("\x10\x11");
  std::string told = running->wait_for("cove attach");
  EXPECT_TRUE(has(told, "keeps running")) << told;
  EXPECT_EQ(running->wait(), 0);
  EXPECT_TRUE(is_running("left"));
}

TEST_P(CliTerminal, CtrlZGoesToTheProgramInside) {
  const std::string program = "trap 'echo got=$((40+2))' TSTP; echo up=$((1+1)); while :; do sleep 0.05; done";
  auto running = start({"run", "--direct", "-it", "--", "sh", "-c", program}, At::Terminal);
  running->wait_for("up=2");
  running->type("\x1a");
  running->wait_for("got=42");
  running->type("\x03");
  running->rest();
  EXPECT_EQ(running->wait(), 130);
}

COVE_FOR_EVERYBODY(CliTerminal);

}  // namespace
}  // namespace cove::test
