// The command line with a server of its own, as a user meets it.
#include "cli_server_fixture.h"

namespace cove::test {

// With a file as standard input, or nothing to read.
Outcome CliServer::run_plainly(const Words& words, const std::string& input) {
  const std::string file = folder() + "/input";
  write(file, input);
  own(file);
  Words whole = {"bash", "-c", R"("$@" <)" + (input.empty() ? "/dev/null" : file), "bash", build_folder() + "/cove"};
  whole.insert(whole.end(), words.begin(), words.end());
  return run(whole, options_);
}

namespace {

// --- the server
// -------------------------------------------------------------------------------------------------------

TEST_P(CliServer, IsStartedOnceByManyCommands) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) threads.emplace_back([this] { EXPECT_EQ(cove({"ls"}).exit_code, 0); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count(log(), "serving at"), 1u) << log();
}

TEST_P(CliServer, IsNotTiedToWhoeverStartedIt) {
  Outcome refused = cove_with({"ls"}, {"SECRET_TOKEN=leak", "COVE_API_KEY=cove_secret"});
  EXPECT_TRUE(has(refused.err, "the key is not valid")) << refused.err;
  pid_t server = listener_of(socket());
  ASSERT_GT(server, 1);
  std::string proc = "/proc/" + std::to_string(server);
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/cwd"), "/");
  std::string environment = read(proc + "/environ");
  EXPECT_FALSE(has(environment, "SECRET_TOKEN"));
  EXPECT_FALSE(has(environment, "cove_secret"));
  EXPECT_TRUE(has(environment, "COVE_STATE="));
  EXPECT_NE(::getsid(server), ::getsid(0));
  EXPECT_NE(::getpgid(server), ::getpgid(0));
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/fd/0"), "/dev/null");
}

TEST_P(CliServer, TellsWhyItCouldNotBeStarted) {
  Outcome outcome = cove_with({"ls"}, {"COVE_MAX_BODY=nonsense"});
  EXPECT_EQ(outcome.exit_code, 125);
  EXPECT_TRUE(has(outcome.err, "could not be started")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "nonsense")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "server.log")) << outcome.err;
}

TEST_P(CliServer, IsNotStartedWhereThatIsNotWanted) {
  EXPECT_EQ(cove_with({"ls"}, {"COVE_AUTOSTART=0"}).exit_code, 125);
  Outcome config = cove({"config", "show"});
  EXPECT_EQ(config.exit_code, 0);
  EXPECT_TRUE(has(config.err, "no server is running")) << config.err;
  EXPECT_TRUE(has(config.out, "max_body")) << config.out;
  EXPECT_EQ(cove_with({"ls"}, {"COVE_HOST=unix:/no/such/socket"}).exit_code, 125);
  EXPECT_EQ(listener_of(socket()), -1);
  Outcome direct = cove({"run", "--", "echo", "without"});
  EXPECT_EQ(direct.out, "without\n");
  EXPECT_EQ(listener_of(socket()), -1);
}

TEST_P(CliServer, ShowsItsSettings) {
  ASSERT_EQ(cove({"ls"}).exit_code, 0);
  Json settings = json({"config", "show"})["settings"];
  auto state = std::find_if(settings.begin(), settings.end(), [](const Json& each) { return each["name"] == "state"; });
  ASSERT_NE(state, settings.end());
  EXPECT_EQ((*state)["value"], state_);
  EXPECT_TRUE(has(cove({"config", "show"}).out, "max_body"));
}

// --- sandboxes
// --------------------------------------------------------------------------------------------------------

TEST_P(CliServer, SandboxesGoThroughTheirStates) {
  make("box", {"--label", "team=web", "-e", "GIVEN=1", "--idle", "1h"});
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "echo $GIVEN > file"}).exit_code, 0);
  Json sandbox = json({"inspect", "box"});
  EXPECT_EQ(sandbox["state"], "running");
  EXPECT_EQ(sandbox["labels"]["team"], "web");
  EXPECT_EQ(sandbox["lifecycle"]["idle_ms"], 3'600'000);
  if (succeeds_with_groups({"pause", "box"})) {
    EXPECT_TRUE(has(cove({"exec", "box", "true"}).err, "paused"));
    EXPECT_EQ(cove({"resume", "box"}).exit_code, 0);
  }
  EXPECT_EQ(cove({"stop", "box"}).exit_code, 0);
  EXPECT_FALSE(has(cove({"ls"}).out, "box"));
  EXPECT_TRUE(has(cove({"ls", "-a"}).out, "stopped"));
  EXPECT_EQ(cove({"start", "box"}).exit_code, 0);
  EXPECT_EQ(cove({"exec", "box", "cat", "file"}).out, "1\n");
  Outcome refused = cove({"rm", "box"});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_TRUE(has(refused.err, "cove rm -f")) << refused.err;
  EXPECT_EQ(cove({"rm", "box", "-f"}).exit_code, 0);
  EXPECT_EQ(cove({"rm", "-f", "box"}).exit_code, 0);
  EXPECT_EQ(cove({"inspect", "box"}).exit_code, 125);
}

TEST_P(CliServer, SandboxesAreListedAndFiltered) {
  make("one", {"--label", "a=1"});
  make("two", {"--label", "a=2"});
  EXPECT_EQ(json({"ls"}).size(), 2u);
  EXPECT_EQ(json({"ls", "--filter", "label=a=1"})[0]["name"], "one");
  EXPECT_EQ(json({"ls", "--filter", "name=two"}).size(), 1u);
  EXPECT_EQ(cove({"ls", "-q"}).out.size(), 42u);
  std::string table = cove({"ls"}).out;
  EXPECT_TRUE(table.starts_with("ID ")) << table;
  EXPECT_EQ(count(table, "\n"), 3u);
  EXPECT_EQ(json({"inspect", "one", "two"}).size(), 2u);
  EXPECT_EQ(cove({"ls", "--filter", "colour=red"}).exit_code, 125);
}

TEST_P(CliServer, SandboxesAreChangedWhileTheyRun) {
  make("box");
  EXPECT_EQ(cove({"update", "-e", "LATER=yes", "--label", "k=v", "box"}).exit_code, 0);
  EXPECT_EQ(json({"inspect", "box"})["labels"]["k"], "v");
  if (succeeds_with_groups({"update", "--pids-limit", "64", "box"})) {
    EXPECT_EQ(json({"inspect", "box"})["limits"]["processes"], 64);
  }
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "echo $LATER"}).out, "yes\n");
  EXPECT_EQ(cove({"renew", "--max", "2h", "box"}).exit_code, 0);
  EXPECT_EQ(json({"inspect", "box"})["lifecycle"]["max_ms"], 7'200'000);
  EXPECT_EQ(cove({"update", "box"}).exit_code, 125);
}

TEST_P(CliServer, ShowsWhatSandboxesUse) {
  make("box");
  if (!succeeds_with_groups({"stats", "box"})) return;
  Json stats = json({"stats", "box"});
  EXPECT_EQ(stats[0]["name"], "box");
  EXPECT_TRUE(stats[0]["memory_bytes"].is_number());
  EXPECT_TRUE(has(cove({"top", "-n", "1", "-d", "100ms"}).out, "box"));
}

// --- execs
// ------------------------------------------------------------------------------------------------------------

TEST_P(CliServer, ExecBehavesAsTheCommandWould) {
  make("box");
  Outcome both = cove({"exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(both.out, "out\n");
  EXPECT_EQ(both.err, "err\n");
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_EQ(cove({"exec", "box", "cat"}, "through stdin").out, "through stdin");
  EXPECT_EQ(cove({"exec", "-e", "A=1", "-w", "/tmp", "-u", "root", "box", "sh", "-c", "echo $A $PWD $(id -un)"}).out,
            "1 /tmp root\n");
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "kill -TERM $$"}).exit_code, 143);
  EXPECT_EQ(cove({"exec", "box", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(cove({"exec", "box", "/etc"}).exit_code, 126);
  EXPECT_EQ(cove({"exec", "-u", "nosuch", "box", "true"}).exit_code, 125);
  EXPECT_EQ(cove({"exec", "-w", "/no/such", "box", "true"}).exit_code, 125);
  Outcome late = cove({"exec", "--timeout", "200ms", "box", "sleep", "60"});
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_TRUE(has(late.err, "timed out after 200ms")) << late.err;
  Json result = Json::parse(cove({"exec", "--json", "box", "echo", "hi"}).out);
  EXPECT_EQ(result["stdout"]["text"], "hi\n");
}

TEST_P(CliServer, ExecStreamsAnyAmount) {
  make("box");
  EXPECT_EQ(cove({"exec", "box", "head", "-c", "30000000", "/dev/zero"}).out.size(), 30000000u);
  std::string much(20'000'000, 'x');
  EXPECT_EQ(cove({"exec", "box", "wc", "-c"}, much).out, "20000000\n");
  EXPECT_EQ(cove({"exec", "box", "cat"}, much).out, much);
  // Much output for little input, so that each waits for the other.
  std::string lines(200'000, '\n');
  EXPECT_EQ(cove({"exec", "box", "sed", "s/^/" + std::string(200, 'y') + "/"}, lines).out.size(), 200'000u * 201);
}

TEST_P(CliServer, ExecIsToldThatNobodyReads) {
  make("box");
  std::string program = build_folder() + "/cove";
  ChildOptions options = options_;
  Outcome outcome = run({"bash", "-c", program + " exec box yes | head -1; echo ${PIPESTATUS[0]}"}, options);
  EXPECT_EQ(outcome.out, "y\n141\n") << outcome.err;
  EXPECT_EQ(run({"bash", "-c", "yes | " + program + " exec box head -1"}, options).out, "y\n");
}

TEST_P(CliServer, RunIsOneRequest) {
  make("box");
  auto asked = [&](const std::string& route) {
    const std::string metrics =
        run({"curl", "-s", "--unix-socket", socket(), "http://localhost/metrics"}, options_).out;
    int sum = 0;
    const std::regex pattern("cove_http_requests_total\\{method=\"[A-Z]+\",route=\"" + route + "[^}]*\\} (\\d+)");
    for (std::sregex_iterator at(metrics.begin(), metrics.end(), pattern), end; at != end; ++at)
      sum += std::stoi((*at)[1]);
    return sum;
  };
  const int before = asked("/v1/sandboxes");
  int count = 0;
  const std::string script = folder() + "/script.sh";
  write(script, "echo one");
  own(script);
  for (const Words& words : std::vector<Words>{{"run", "--", "echo", "one"},
                                               {"run", "echo", "one"},
                                               {"run", "--", "sh", "-c", "echo one; echo \u00e4 >&2"},
                                               {"run", "-e", "A=1", "--", "sh", "-c", "[ $A = 1 ] && echo one"},
                                               {"run", "--lang", "bash", "-"},
                                               {"run", "--lang", "bash", script},
                                               {"run", "-u", "root", "echo", "one"}}) {
    Outcome outcome = run_plainly(words, "echo one");
    EXPECT_EQ(outcome.out, "one\n") << outcome.err;
    ++count;  // a request is counted once its answer has left
    EXPECT_TRUE(comes_true([&] { return asked("/v1/execute") == count; }));
  }
  EXPECT_EQ(asked("/v1/sandboxes"), before);
  EXPECT_EQ(json({"ls"}).size(), 1u);
  EXPECT_EQ(cove({"run", "--"}).exit_code, 125);
  EXPECT_EQ(cove({"run"}).exit_code, 125);
  EXPECT_EQ(cove_with({"run", "echo", "one"}, {"COVE_DIRECT=1"}).out, "one\n");
  EXPECT_EQ(asked("/v1/execute"), count);
}

// Through a server and without one.
TEST_P(CliServer, RunIsTheSameWhoeverMakesTheSandbox) {
  make("box");
  std::string long_word(9000, 'x'), all_signs;
  for (char c = 1; c > 0; ++c) all_signs += c;
  const std::vector<Words> commands = {
      {"true"},
      {"false"},
      {"sh", "-c", "exit 124"},
      {"sh", "-c", "exit 125"},
      {"sh", "-c", "exit 127"},
      {"sh", "-c", "exit 255"},
      {"sh", "-c", "echo out"},
      {"sh", "-c", "echo err >&2; exit 3"},
      {"sh", "-c", "echo out; echo err >&2; echo out"},
      {"sh", "-c", "sleep 0.1; echo late"},
      {"sh", "-c", "kill -TERM $$"},
      {"sh", "-c", "kill -9 $$"},
      {"printf", R"(\001\037\177\303\244\360\237\230\200\n\t\\"/)"},
      {"printf", R"(\377\376)"},
      {"head", "-c", "60000", "/dev/zero"},
      {"sh", "-c", "yes | head -c 30000"},
      {"sh", "-c", "yes | head -c 3000000"},
      {"printf", "%s\n", "", " ", "\"", "\\", all_signs, "\u00e4"},
      {"printf", "%s\n", long_word},
      {"no-such-command"},
      {"/etc/passwd"},
      {"cat"},
      {""},
  };
  for (const Words& command : commands)
    for (const char* input : {"", "typed"}) {
      Words words = {"run", "--server", "--"};
      words.insert(words.end(), command.begin(), command.end());
      const Outcome served = run_plainly(words, input);
      words[1] = "--direct";
      const Outcome direct = run_plainly(words, input);
      EXPECT_EQ(served.out, direct.out) << command[0];
      EXPECT_EQ(served.err, direct.err) << command[0];
      EXPECT_EQ(served.exit_code, direct.exit_code) << command[0];
      EXPECT_EQ(json({"ls"}).size(), 1u) << command[0];
    }
}

// What cannot be written is told, once.
TEST_P(CliServer, RunTellsWhatItCouldNotWrite) {
  make("box");
  auto printed = [&](const std::string& line) { return run({"bash", "-c", line, build_folder() + "/cove"}, options_); };
  Outcome full = printed("$0 run -- echo out </dev/null >/dev/full");
  EXPECT_EQ(full.exit_code, 125);
  EXPECT_EQ(count(full.err, "No space left"), 1u) << full.err;
  // Where no one reads any more, a program that still runs gets SIGPIPE, as in any pipe.
  const auto as_in_a_pipe = testing::AnyOf(0, 128 + SIGPIPE);
  for (const char* way : {"", "--direct"}) {
    Outcome unread = printed(std::string("$0 run ") + way + " -- echo out </dev/null | true; exit ${PIPESTATUS[0]}");
    EXPECT_THAT(unread.exit_code, as_in_a_pipe) << way;
    EXPECT_EQ(unread.err, "") << way;
  }
  // A reader who takes some of it, of a pipe that does not take all.
  const std::string half = R"py(python3 -c '
import fcntl, os, subprocess, sys
reader, writer = os.pipe()
fcntl.fcntl(writer, 1031, 4096)
run = subprocess.Popen([sys.argv[1], "run", "--", "seq", "3000"], stdin=subprocess.DEVNULL, stdout=writer)
os.close(writer), os.read(reader, 100), os.close(reader)
sys.exit(run.wait())' $0)py";
  EXPECT_THAT(printed(half).exit_code, as_in_a_pipe);
}

// Where a standard stream is closed, the next socket would have its number.
TEST_P(CliServer, WhatIsPrintedToAClosedStreamIsNoRequest) {
  make("box");
  make("victim");
  std::string session = cove({"session", "start"}).out.substr(0, 20);
  const std::string attack = R"(printf 'DELETE /v1/sandboxes/victim HTTP/1.1\r\nHost: localhost\r\n\r\n' >&)";
  for (const std::string& verb : Words{"run", "run --direct", "exec box", "session exec " + session, "execute"}) {
    for (const std::string stream : {"1", "2"}) {
      std::string inside = attack + stream + "; sleep 0.3";
      Outcome outcome = run({"bash", "-c", R"(eval "$1 -- sh -c '$2' $3>&-")", "bash", build_folder() + "/cove " + verb,
                             std::regex_replace(inside, std::regex("'"), R"('\'')"), stream},
                            options_);
      EXPECT_EQ(outcome.exit_code, 125) << verb << " " << stream << ": " << outcome.err;
      if (stream == "1") {
        EXPECT_TRUE(has(outcome.err, "Bad file descriptor")) << verb << ": " << outcome.err;
      }
      EXPECT_EQ(cove({"inspect", "victim"}).exit_code, 0) << verb << " " << stream;
    }
    // Without standard input there is none.
    Outcome outcome = run({"bash", "-c", build_folder() + "/cove " + verb + " -- sh -c 'cat; echo end' <&-"}, options_);
    EXPECT_EQ(outcome.out, "end\n") << verb << ": " << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0) << verb;
  }
}

TEST_P(CliServer, DoesNotDependOnTheUmask) {
  const std::string see = " -- sh -c 'touch made; stat -c %a made . / /etc'";
  for (const std::string way : {" run --direct", " run --direct -w /tmp", " run"}) {
    Outcome outcome = run({"bash", "-c", "umask 077; " + build_folder() + "/cove" + way + see}, options_);
    std::string folder = has(way, "/tmp") ? "1777" : "755";
    EXPECT_EQ(outcome.out, "644\n" + folder + "\n755\n755\n") << way << ": " << outcome.err;
    // From the second time on there is a server, which has it from whoever started it.
    if (way == " run --direct -w /tmp") run({"bash", "-c", "umask 077; " + build_folder() + "/cove create"}, options_);
  }
}

TEST_P(CliServer, TellsThatOutputCouldNotBeWritten) {
  make("box");
  std::string session = cove({"session", "start"}).out.substr(0, 20);
  for (const std::string words :
       {"run -- echo hi", "run -- sh -c 'echo hi; sleep 0.3'", "run --direct -- echo hi", "exec box -- echo hi", "ls",
        "execute -- echo hi", "execute --json -- echo hi", "help"}) {
    Outcome outcome = run({"bash", "-c", build_folder() + "/cove " + words + " >/dev/full"}, options_);
    EXPECT_EQ(outcome.exit_code, 125) << words;
    EXPECT_TRUE(has(outcome.err, "write")) << words << ": " << outcome.err;
    EXPECT_TRUE(has(outcome.err, "No space left on device")) << words << ": " << outcome.err;
  }
  Outcome much = cove({"execute", "--", "head", "-c", "3000000", "/dev/zero"});
  EXPECT_EQ(much.exit_code, 0);
  EXPECT_TRUE(has(much.err, "the middle is left out of 2.86 MiB")) << much.err;
}

TEST_P(CliServer, SignalsReachTheExec) {
  make("box");
  auto running =
      start({"exec", "box", "sh", "-c", "trap 'exit 42' TERM; echo up; while :; do sleep 0.05; done"}, At::Pipe);
  running->wait_for("up");
  ::kill(running->pid, SIGTERM);
  EXPECT_EQ(running->wait(), 42);
}

TEST_P(CliServer, ExecsGoOnWithoutTheirCaller) {
  make("box");
  std::string id = cove({"exec", "-d", "--tag", "job", "box", "sh", "-c", "echo one; sleep 0.5; echo two; exit 7"}).out;
  EXPECT_EQ(id.size(), 21u);
  EXPECT_TRUE(has(cove({"ps", "box"}).out, "job"));
  EXPECT_EQ(cove({"logs", "-f", "box", "job"}).out, "one\ntwo\n");
  EXPECT_EQ(cove({"logs", "box"}).out, "one\ntwo\n");
  EXPECT_EQ(cove({"attach", "-a", "box", "job"}).exit_code, 7);
  EXPECT_FALSE(has(cove({"ps", "box"}).out, "job"));
  EXPECT_TRUE(has(cove({"ps", "-a", "box"}).out, "error (7)"));
}

TEST_P(CliServer, ExecsAreKilledAndSignalled) {
  make("box");
  cove({"exec", "-d", "--tag", "a", "box", "sleep", "900"});
  cove({"exec", "-d", "--tag", "b", "box", "sleep", "900"});
  EXPECT_EQ(cove({"kill", "-s", "TERM", "box", "a"}).exit_code, 0);
  EXPECT_TRUE(comes_true([&] { return json({"ps", "box"}).size() == 1; }));
  EXPECT_EQ(cove({"kill", "box"}).exit_code, 0);
  EXPECT_EQ(json({"ps", "box"}).size(), 0u);
  EXPECT_EQ(cove({"kill", "box", "nosuch"}).exit_code, 125);
}

TEST_P(CliServer, ATerminalIsTheExecsOwn) {
  make("box");
  auto running = start({"exec", "-it", "box", "bash", "--norc"}, At::Terminal);
  running->type("stty size; tty\n");
  running->wait_for("40 120");
  winsize size = {50, 90, 0, 0};
  ::ioctl(running->out, TIOCSWINSZ, &size);
  running->type("sleep 0.3; stty size\n");
  running->wait_for("50 90");
  running->type("sh -c 'echo rea\"\"dy; exec cat'\n");
  running->wait_for("ready");
  running->type("\x03");
  running->wait_for("$ ");
  running->type("echo after=$?; exit 5\n");
  running->wait_for("after=130");
  running->rest();
  EXPECT_EQ(running->wait(), 5);
}

TEST_P(CliServer, AShellIsAShellInside) {
  make("box");
  auto running = start({"shell", "box"}, At::Terminal);
  running->type("echo in=$IS_SANDBOX\n");
  running->wait_for("in=1");
  running->type("exit 3\n");
  running->rest();
  EXPECT_EQ(running->wait(), 3);
}

TEST_P(CliServer, ATerminalCanBeLeftAndTakenUpAgain) {
  make("box");
  cove({"exec", "-d", "-t", "--tag", "sh", "box", "sh"});
  auto first = start({"attach", "box", "sh"}, At::Terminal);
  first->type("echo first=$((1+1))\n");
  first->wait_for("first=2");
  first->type("\x10");
  first->type("\x11");
  first->wait_for("keeps running");
  EXPECT_EQ(first->wait(), 0);
  auto second = start({"attach", "box", "sh"}, At::Terminal);
  second->type("echo second=$((2+2)); exit 9\n");
  second->wait_for("second=4");
  second->rest();
  EXPECT_EQ(second->wait(), 9);
}

TEST_P(CliServer, OutputIsWholeWhenTheServerIsKilled) {
  make("box");
  auto running =
      start({"exec", "box", "sh", "-c", "for i in $(seq 60); do echo line $i; sleep 0.05; done; exit 4"}, At::Pipe);
  running->wait_for("line 5\n");
  pid_t server = listener_of(socket());
  ASSERT_GT(server, 1);
  ::kill(server, SIGKILL);
  std::string rest = running->rest();
  EXPECT_TRUE(has(rest, "line 60\n")) << rest;
  EXPECT_EQ(running->wait(), 4);
}

// --- files
// ------------------------------------------------------------------------------------------------------------

TEST_P(CliServer, CopiesFilesAndFolders) {
  make("box");
  std::string here = folder();
  std::filesystem::create_directories(here + "/tree/deep");
  write(here + "/tree/deep/data", "42");
  write(here + "/one", "single");
  ASSERT_EQ(::chmod((here + "/one").c_str(), 0750), 0);
  std::filesystem::create_symlink("deep/data", here + "/tree/link");
  for (const char* name : {"/tree", "/tree/deep", "/tree/deep/data", "/tree/link", "/one"}) own(here + name);

  EXPECT_EQ(cove({"cp", here + "/one", "box:copied"}).exit_code, 0);
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "cat copied; stat -c %a copied"}).out, "single750\n");
  EXPECT_EQ(cove({"cp", here + "/tree", "box:"}).exit_code, 0);
  EXPECT_EQ(cove({"cp", here + "/tree/.", "box:/tmp/content"}).exit_code, 0);
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "cat tree/link /tmp/content/deep/data"}).out, "4242");
  EXPECT_EQ(cove({"cp", "box:tree", here + "/back"}).exit_code, 0);
  EXPECT_EQ(read(here + "/back/link"), "42");
  EXPECT_EQ(cove({"cp", "box:copied", here}).exit_code, 0);
  EXPECT_EQ(read(here + "/copied"), "single");
  EXPECT_EQ(cove({"cp", "box:copied", "-"}).out, "single");
  EXPECT_EQ(cove({"cp", "-", "box:typed"}, "typed in").exit_code, 0);
  EXPECT_EQ(cove({"fs", "cat", "box:typed"}).out, "typed in");
  std::string archive = cove({"cp", "box:tree", "-"}).out;
  EXPECT_EQ(cove({"cp", "-", "box:/tmp/again/"}, archive).exit_code, 0);
  EXPECT_EQ(cove({"fs", "cat", "box:/tmp/again/deep/data"}).out, "42");
  EXPECT_EQ(cove({"cp", "box:nosuch", here}).exit_code, 125);
  EXPECT_EQ(cove({"cp", here + "/nosuch", "box:"}).exit_code, 125);
  EXPECT_EQ(cove({"cp", here + "/one", here + "/two"}).exit_code, 125);
}

TEST_P(CliServer, BringsNoLinksThatLeadOut) {
  make("box");
  std::string here = folder();
  ASSERT_EQ(cove({"exec", "box", "sh", "-c",
                  "mkdir d; ln -s /etc/passwd d/abs; ln -s ../../.. d/up; echo x > d/f; ln -s f d/fine; mkfifo d/p"})
                .exit_code,
            0);
  Outcome copied = cove({"cp", "box:d", here + "/out"});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_EQ(read(here + "/out/fine"), "x\n");
  for (const char* name : {"/out/abs", "/out/up", "/out/p"})
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(here + name))) << name;
  EXPECT_TRUE(has(copied.err, "leads out")) << copied.err;
}

TEST_P(CliServer, LooksAtFilesAndChangesThem) {
  make("box");
  EXPECT_EQ(cove({"fs", "mkdir", "-p", "box:a/b"}).exit_code, 0);
  EXPECT_EQ(cove({"exec", "box", "sh", "-c", "echo hi > a/f; echo h > a/.hidden"}).exit_code, 0);
  EXPECT_EQ(cove({"fs", "ls", "box:a"}).out, "b/\nf\n");
  EXPECT_TRUE(has(cove({"fs", "ls", "-la", "box:a"}).out, ".hidden"));
  EXPECT_EQ(json({"fs", "stat", "box:a/f"})["size_bytes"], 3);
  EXPECT_EQ(cove({"fs", "chmod", "0600", "box:a/f"}).exit_code, 0);
  EXPECT_EQ(json({"fs", "stat", "box:a/f"})["mode"], "0600");
  EXPECT_EQ(cove({"fs", "mv", "box:a/f", "a/b"}).exit_code, 0);
  EXPECT_EQ(cove({"fs", "cat", "box:a/b/f"}).out, "hi\n");
  EXPECT_EQ(cove({"fs", "rm", "box:a"}).exit_code, 125);
  EXPECT_EQ(cove({"fs", "rm", "-r", "box:a"}).exit_code, 0);
  EXPECT_EQ(cove({"fs", "rm", "box:a"}).exit_code, 125);
  EXPECT_EQ(cove({"fs", "rm", "-f", "box:a"}).exit_code, 0);
  EXPECT_EQ(cove({"fs", "lss", "box:a"}).exit_code, 125);
}

TEST_P(CliServer, WatchesAFolder) {
  make("box");
  auto running = start({"fs", "watch", "box:"}, At::Terminal);
  running->wait_for("watching");
  EXPECT_EQ(cove({"exec", "box", "touch", "appeared"}).exit_code, 0);
  running->wait_for("/home/user/appeared");
  ::kill(running->pid, SIGTERM);
  running->wait();
}

// --- events, keys
// -----------------------------------------------------------------------------------------------------

TEST_P(CliServer, TellsWhatHasHappened) {
  make("box");
  auto running = start({"events", "-f", "--json"}, At::Pipe);
  running->wait_for("sandbox.created");
  cove({"exec", "box", "true"});
  running->wait_for("exec.ended");
  ::kill(running->pid, SIGTERM);
  running->wait();
  std::string all = cove({"events", "--json"}).out;
  Json first = Json::parse(all.substr(0, all.find('\n')));
  const std::string box = json({"inspect", "box"})["id"];
  std::string made = cove({"events", "--type", "sandbox.created", "--sandbox", box}).out;
  EXPECT_EQ(count(made, "\n"), 1u) << made;
  EXPECT_TRUE(has(made, box)) << made;
  std::string later = cove({"events", "--after", std::to_string(first["seq"].get<int>())}).out;
  EXPECT_EQ(count(later, "\n"), count(all, "\n") - 1);
}

TEST_P(CliServer, MakesKeysForTcp) {
  std::string key = cove({"key", "create", "ci", "--scope", "read,manage", "--expires", "1d"}).out;
  EXPECT_EQ(key.size(), 70u) << key;
  Json keys = json({"key", "ls"});
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0]["name"], "ci");
  EXPECT_EQ(keys[0]["scopes"], Json({"read", "manage"}));
  EXPECT_TRUE(has(cove({"key", "create", "odd", "--scope", "run,all"}).err, "'all' is not a scope"));
  EXPECT_EQ(cove({"key", "revoke", keys[0]["id"]}).exit_code, 0);
  EXPECT_EQ(json({"key", "ls"}).size(), 0u);
}

// --- cove run through the server
// --------------------------------------------------------------------------------------

TEST_P(CliServer, RunsThroughTheServerAsWithout) {
  std::string here = folder();
  write(here + "/in", "given");
  own(here + "/in");
  Outcome outcome =
      cove({"run", "--server", "--copy-in", here + "/in", "--copy-out", "{res*,missing}:" + here + "/out", "--", "sh",
            "-c", "cat in; mkdir res; echo deep > res/ult; ln -s /etc/passwd reslink; exit 6"});
  EXPECT_EQ(outcome.out, "given");
  EXPECT_EQ(outcome.exit_code, 6) << outcome.err;
  EXPECT_EQ(read(here + "/out/res/ult"), "deep\n");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(here + "/out/reslink")));
  EXPECT_TRUE(has(outcome.err, "it is a link")) << outcome.err;
  Json result = Json::parse(cove({"run", "--json", "--", "sh", "-c", "echo hi; exit 2"}).out, nullptr, false);
  EXPECT_EQ(result["stdout"]["text"], "hi\n");
  EXPECT_EQ(result["exit_code"], 2);
  EXPECT_EQ(cove({"run", "--lang", "python", "-"}, "print(6*7)").out, "42\n");
  EXPECT_EQ(cove({"run", "--timeout", "200ms", "--", "sleep", "9"}).exit_code, 124);
  EXPECT_EQ(cove({"run", "--", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(cove({"run", "--workspace", here, "--", "sh", "-c", "pwd; cat in"}).out, "/workspace\ngiven");
  EXPECT_EQ(cove({"run", "--direct", "--", "echo", "direct"}).out, "direct\n");
  EXPECT_EQ(cove({"ls", "-aq"}).out, "");
}

// Whoever makes the sandbox, and whatever the configuration says of what is not named.
TEST_P(CliServer, RunHasTheSameLimitsWithAndWithoutAServer) {
  options_.env.push_back("COVE_LIMITS_OPEN_FILES=500");
  options_.env.push_back("COVE_LIMITS_OUTPUT=1m");
  ASSERT_EQ(cove({"ls"}).exit_code, 0);
  const std::string look = "df --output=size,itotal,target / /home/user /tmp /dev/shm; ulimit -a";
  for (const Words& named : std::vector<Words>{{}, {"--disk", "32m"}, {"--ulimit", "nofile=600"}}) {
    std::string limits[2], seen[2];
    for (int i : {0, 1}) {
      Words words = {"run", i == 0 ? "--direct" : "--server"};
      words.insert(words.end(), named.begin(), named.end());
      words.insert(words.end(), {"--json", "--", "sh", "-c", look});
      Outcome outcome = cove(words);
      Json result = Json::parse(outcome.out, nullptr, false);
      ASSERT_EQ(result.value("exit_code", -1), 0) << outcome.out << outcome.err;
      limits[i] = result["limits"].dump(1);
      seen[i] = result["stdout"]["text"];
    }
    EXPECT_EQ(limits[0], limits[1]);
    EXPECT_EQ(seen[0], seen[1]);
  }
}

// At once: its name can be taken by the next.
TEST_P(CliServer, ARunThatIsKilledLeavesNothing) {
  ASSERT_EQ(cove({"ls"}).exit_code, 0);
  const std::string file = folder() + "/file";
  write(file, "given");
  own(file);
  for (const Words& files : std::vector<Words>{{}, {"--copy-in", file}}) {
    Words words = {"run", "--name", "mine"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"--", "sh", "-c", "echo up; exec sleep 973"});
    auto running = start(words, At::Pipe);
    running->wait_for("up");
    EXPECT_EQ(cove({"run", "--name", "mine", "true"}).exit_code, 125);
    ::kill(running->pid, SIGKILL);
    EXPECT_EQ(running->wait(), 137);
    EXPECT_TRUE(comes_true([] { return run({"pgrep", "-f", "sleep 973"}).exit_code != 0; }));
    EXPECT_TRUE(comes_true([&] { return cove({"ls", "-aq"}).out.empty(); }, std::chrono::seconds(8)));
    EXPECT_EQ(cove({"run", "--name", "mine", "true"}).exit_code, 0);
  }
}

TEST_P(CliServer, ARunGoesOnWhenItsServerIsReplaced) {
  ASSERT_EQ(cove({"ls"}).exit_code, 0);
  for (int signal : {SIGKILL, SIGTERM}) {
    auto running = start(
        {"run", "--name", "mine", "--", "sh", "-c", "for i in $(seq 60); do echo line $i; sleep 0.05; done; exit 4"},
        At::Pipe);
    running->wait_for("line 5\n");
    pid_t server = listener_of(socket());
    ASSERT_GT(server, 1);
    ::kill(server, signal);
    std::string rest = running->rest();
    EXPECT_TRUE(has(rest, "line 60\n")) << rest;
    EXPECT_EQ(running->wait(), 4);
    EXPECT_EQ(cove({"ls", "-aq"}).out, "");
  }
}

TEST_P(CliServer, ARunThatIsInterruptedLeavesNothing) {
  ASSERT_EQ(cove({"ls"}).exit_code, 0);
  auto running = start({"run", "--", "sh", "-c", "echo up; exec sleep 974"}, At::Pipe);
  running->wait_for("up");
  ::kill(running->pid, SIGINT);
  EXPECT_EQ(running->wait(), 130);
  EXPECT_EQ(cove({"ls", "-aq"}).out, "");
}

// --- words
// ------------------------------------------------------------------------------------------------------------

TEST_P(CliServer, HelpsWithTypos) {
  EXPECT_TRUE(has(cove({"craete"}).err, "did you mean cove create?"));
  EXPECT_TRUE(has(cove({"create", "--memroy", "1g"}).err, "did you mean --memory?"));
  EXPECT_TRUE(has(cove({"exec"}).err, "requires more arguments"));
  EXPECT_TRUE(has(cove({"inspect", "nosuch"}).err, "nosuch"));
  for (const char* verb : {"create", "exec", "cp", "fs", "serve", "completion"})
    EXPECT_TRUE(has(cove({"help", verb}).out, "Usage: cove")) << verb;
}

TEST_P(CliServer, CompletesWords) {
  make("box");
  std::string script = folder() + "/try";
  write(script, "PATH=" + build_folder() + R"(:$PATH
source <(cove completion bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cove; echo "${COMPREPLY[*]}"; }
try cove paus
try cove pause b
try cove create --mem
try cove fs mk
try cove fs ls -R
)");
  EXPECT_EQ(run({"bash", script}, options_).out, "pause\nbox\n--memory\nmkdir\n-R\n");
}

COVE_FOR_EVERYBODY(CliServer);

}  // namespace
}  // namespace cove::test
