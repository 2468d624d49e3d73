// Verbs and options of the command line, and what they say when something is wrong.
#include "cli_server_fixture.h"

namespace cove::test {
namespace {

class CliVerbs : public CliServer {
 protected:
  // As a shell runs it; $0 is cove.
  Outcome shell(const std::string& line) const { return run({"bash", "-c", line, build_folder() + "/cove"}, options_); }
  Json setting(const std::string& name) const {
    const Json shown = json({"config", "show"});
    for (const Json& each : shown["settings"])
      if (each["name"] == name) return each["value"];
    return {};
  }
};

TEST_P(CliVerbs, StopServerStopsTheServerAndLeavesSandboxes) {
  Outcome none = cove({"stop-server"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_TRUE(has(none.err, "no server is running")) << none.err;
  make("box");
  cove({"exec", "-d", "--tag", "job", "box", "sleep", "900"});
  pid_t server = listener_of(socket());
  ASSERT_GT(server, 1);
  EXPECT_EQ(cove({"stop-server"}).exit_code, 0);
  EXPECT_EQ(listener_of(socket()), -1);
  EXPECT_TRUE(has(cove({"ps", "box"}).out, "job"));
  EXPECT_EQ(cove_with({"stop-server"}, {"COVE_HOST=tcp:127.0.0.1:1"}).exit_code, 125);
}

TEST_P(CliVerbs, ServeExitsAsEveryCommandDoes) {
  Outcome wrong = cove({"serve", "--max-body", "nonsense"});
  EXPECT_EQ(wrong.exit_code, 125);
  EXPECT_TRUE(has(wrong.err, "nonsense")) << wrong.err;
  auto server = start({"serve", "--listen", "unix:" + socket()}, At::Pipe);
  ASSERT_TRUE(comes_true([&] { return listener_of(socket()) > 0; }));
  EXPECT_EQ(cove({"ls"}).exit_code, 0);
  ::kill(server->pid, SIGTERM);
  EXPECT_EQ(server->wait(), 0);
}

TEST_P(CliVerbs, ExecRunsCode) {
  make("box");
  EXPECT_EQ(cove({"exec", "--lang", "python", "box", "-"}, "print(6*7)").out, "42\n");
  std::string here = folder();
  write(here + "/code.py", "import sys\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(3)\n");
  own(here + "/code.py");
  Outcome file = cove({"exec", "--lang", "python", "box", here + "/code.py", "a", "--b"}, "input");
  EXPECT_EQ(file.out, "['a', '--b'] input\n") << file.err;
  EXPECT_EQ(file.exit_code, 3);
  std::string session = cove({"session", "start"}).out;
  session.pop_back();
  EXPECT_EQ(cove({"session", "exec", "--lang", "python", session, "-"}, "print('there')").out, "there\n");
  EXPECT_TRUE(has(cove({"exec", "--lang", "cobol", "box", "-"}, "x").err, "cobol"));
  EXPECT_EQ(cove({"exec", "--lang", "python", "box", "/no/such.py"}).exit_code, 125);
}

TEST_P(CliVerbs, SizesAreLimitsByName) {
  if (succeeds_with_groups({"create", "--name", "tiny", "--size", "small", "-m", "256m"})) {
    Json limits = json({"inspect", "tiny"})["limits"];
    EXPECT_EQ(limits["memory_bytes"], 256 << 20);  // what is named by itself goes before the size
    EXPECT_EQ(limits["cpus"], 0.5);
    EXPECT_EQ(limits["disk_bytes"], uint64_t{2} << 30);
  }
  Outcome wrong = cove({"run", "--size", "huge", "--", "true"});
  EXPECT_EQ(wrong.exit_code, 125);
  EXPECT_TRUE(has(wrong.err, "small, medium, large, xl")) << wrong.err;
  EXPECT_EQ(cove({"run", "--size", "small", "--size", "large", "--", "true"}).exit_code, 125);
}

TEST_P(CliVerbs, ConfigIsShownSetAndChecked) {
  const std::string file = folder() + "/cove.toml";
  options_.env.push_back("COVE_CONFIG=" + file);
  EXPECT_EQ(cove({"config", "check"}).exit_code, 125);  // it is named, and is not there
  EXPECT_EQ(cove({"config", "set", "limits.memory", "3g"}).exit_code, 0);
  write(file, "# mine\n" + read(file) + "\n[admission]\nsandboxes = 7 # seven\n");
  own(file);
  EXPECT_EQ(cove({"config", "set", "admission.sandboxes", "8"}).exit_code, 0);
  EXPECT_EQ(cove({"config", "set", "limits.cpus", "2"}).exit_code, 0);
  EXPECT_EQ(cove({"config", "set", "max_body", "5m"}).exit_code, 0);
  EXPECT_EQ(cove({"config", "set", "images.insecure_registries", "a.example:1,b.example"}).exit_code, 0);
  Outcome check = cove({"config", "check"});
  EXPECT_EQ(check.out, file + ": ok\n") << check.err;
  std::string text = read(file);
  EXPECT_TRUE(has(text, "# mine\n")) << text;
  EXPECT_TRUE(has(text, "sandboxes = 8 # seven\n")) << text;
  EXPECT_EQ(setting("limits.memory"), "3g");
  EXPECT_EQ(setting("limits.cpus"), "2");
  EXPECT_EQ(setting("max_body"), "5m");
  EXPECT_EQ(setting("images.insecure_registries"), "a.example:1,b.example") << text;
  Outcome wrong = cove({"config", "set", "limits.memory", "much"});
  EXPECT_EQ(wrong.exit_code, 125);
  EXPECT_TRUE(has(wrong.err, "much")) << wrong.err;
  EXPECT_EQ(read(file), text);
  EXPECT_TRUE(has(cove({"config", "set", "limits.memroy", "1g"}).err, "limits.memory"));
  write(file, "nonsense = 1\n");
  Outcome broken = cove({"config", "check", file});
  EXPECT_EQ(broken.exit_code, 125);
  EXPECT_TRUE(has(broken.err, file + ":1")) << broken.err;
}

TEST_P(CliVerbs, ImagesAreDockerHubsWhereNobodyElseIsNamed) {
  EXPECT_EQ(setting("images.registry"), "docker.io");
  Outcome mirrored = cove_with({"pull", "python:3.12-slim"}, {"COVE_IMAGES_MIRROR=127.0.0.1:1"});
  EXPECT_TRUE(has(mirrored.err, "docker.io/library/python:3.12-slim")) << mirrored.err;
  EXPECT_TRUE(has(mirrored.err, "127.0.0.1:1")) << mirrored.err;
}

TEST_P(CliVerbs, HintsLeadSomewhere) {
  EXPECT_TRUE(has(cove({"run", "--nmae", "x", "--", "true"}).err, "did you mean --name?"));
  EXPECT_FALSE(has(cove({"run", "--frobnicate", "--", "true"}).err, "did you mean"));
  Outcome image = cove({"image", "rm", "nosuch"});
  EXPECT_EQ(image.exit_code, 125);
  EXPECT_FALSE(has(image.err, "pull")) << image.err;
  EXPECT_TRUE(has(image.err, "cove images")) << image.err;
  EXPECT_TRUE(has(cove({"run", "--image", "nosuch", "--", "true"}).err, "cove pull nosuch"));
}

TEST_P(CliVerbs, WhatTheMachineLacksIsToldOnce) {
  Outcome first = cove({"run", "--direct", "--", "true"});
  Outcome second = cove({"run", "--direct", "--", "true"});
  EXPECT_EQ(second.err, "");
  if (!first.err.empty()) {
    EXPECT_TRUE(has(first.err, "cove doctor")) << first.err;
  }
}

TEST_P(CliVerbs, SmallThings) {
  std::string here = folder();
  Outcome two = cove({"run", "--workspace", here, "--workspace", here + ":rw", "--", "true"});
  EXPECT_EQ(two.exit_code, 125);
  EXPECT_TRUE(has(two.err, "one workspace")) << two.err;
  EXPECT_EQ(cove({"session", "start", "--workspace", here, "--workspace", here}).exit_code, 125);

  make("box", {"--idle", "1h"});
  EXPECT_TRUE(has(cove({"ls"}).out, "if idle")) << cove({"ls"}).out;
  Outcome kill = cove({"kill", "-s", "NOSUCH", "box"});
  EXPECT_EQ(kill.exit_code, 125);
  EXPECT_TRUE(has(kill.err, "NOSUCH")) << kill.err;

  EXPECT_EQ(cove({"exec", "--tag", "much", "box", "sh", "-c", "yes | head -c 3000000"}).exit_code, 0);
  Outcome head = shell("$0 logs box much | head -n 1");
  EXPECT_EQ(head.out, "y\n");
  EXPECT_EQ(head.err, "");

  Outcome bash = cove({"completion", "bash"});
  EXPECT_TRUE(has(bash.out, "$prev == --runtime ]] && choices='")) << bash.out.substr(0, 200);
}

TEST_P(CliVerbs, ProjectsAreMadeLimitedAndRemoved) {
  EXPECT_EQ(cove({"project", "create", "web", "--sandboxes", "1"}).exit_code, 0);
  EXPECT_TRUE(has(cove({"project", "ls"}).out, "web"));
  EXPECT_EQ(cove({"create", "--project", "web", "--name", "one"}).exit_code, 0);
  Outcome second = cove({"create", "--project", "web", "--name", "two"});
  EXPECT_EQ(second.exit_code, 125) << second.out;
  EXPECT_EQ(cove({"project", "rm", "web"}).exit_code, 125);  // it has a sandbox
  EXPECT_EQ(cove({"project", "quota", "web", "--sandboxes", "2", "-m", "8g"}).exit_code, 0);
  Json web = json({"project", "inspect", "web"});
  EXPECT_EQ(web["quotas"]["sandboxes"], 2);
  EXPECT_EQ(web["quotas"]["memory_bytes"], uint64_t{8} << 30);
  EXPECT_EQ(web["usage"]["sandboxes"], 1);
  EXPECT_EQ(cove({"rm", "-f", "--project", "web", "one"}).exit_code, 0);
  EXPECT_EQ(cove({"project", "rm", "web"}).exit_code, 0);
  EXPECT_EQ(cove({"project", "inspect", "web"}).exit_code, 125);
}

TEST_P(CliVerbs, ASessionHasATimeline) {
  std::string session = cove({"session", "start", "--agent", "writer"}).out;
  session.pop_back();
  EXPECT_EQ(cove({"session", "exec", session, "--", "sh", "-c", "exit 3"}).exit_code, 3);
  std::string text = cove({"session", "inspect", session}).out;
  EXPECT_TRUE(has(text, "writer")) << text;
  EXPECT_LT(text.find("session started"), text.find("error (3)")) << text;
  EXPECT_TRUE(has(text, "sh -c exit 3")) << text;
  EXPECT_EQ(json({"session", "inspect", session})["execs"].size(), 1u);
  EXPECT_EQ(cove({"session", "end", session}).exit_code, 0);
  EXPECT_TRUE(has(cove({"session", "inspect", session}).out, "session ended"));
}

TEST_P(CliVerbs, NotebookCellsShareTheirVariables) {
  make("box");
  Outcome cells = cove({"notebook", "box"}, "x = 6\n# %%\nprint('printed')\nx * 7\n");
  EXPECT_EQ(cells.exit_code, 0) << cells.err;
  EXPECT_EQ(cells.out, "printed\n42\n");
  Outcome failed = cove({"notebook", "box"}, "print(1)\n# %%\n1/0\n# %%\nprint('not reached')\n");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out, "1\n");
  EXPECT_TRUE(has(failed.err, "ZeroDivisionError")) << failed.err;
  EXPECT_EQ(cove({"notebook", "--context", "kept", "box"}, "kept = 'here'\n").exit_code, 0);
  EXPECT_EQ(cove({"notebook", "--context", "kept", "box"}, "print(kept)\n").out, "here\n");
}

TEST_P(CliVerbs, ANotebookAtATerminalTakesCellsAndInterrupts) {
  make("box");
  auto running = start({"notebook", "box"}, At::Terminal);
  running->wait_for("In [1]: ");
  running->type("x = 20\n");
  running->wait_for("In [2]: ");
  running->type("for i in range(2):\n    x += 11\n\n");
  running->wait_for("In [3]: ");
  running->type("x\n");
  running->wait_for("Out[3]: 42");
  running->wait_for("In [4]: ");
  running->type("import time; print('be' 'gun'); time.sleep(900)\n");
  running->wait_for("begun");
  running->type("\x03");
  running->wait_for("KeyboardInterrupt");
  running->wait_for("In [5]: ");
  running->type("half a ce\x03");
  running->wait_for("In [5]: ");
  running->type("\x04");
  running->rest();
  EXPECT_EQ(running->wait(), 0);
}

COVE_FOR_EVERYBODY(CliVerbs);

}  // namespace
}  // namespace cove::test
