#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "cli/denials.h"
#include "cli/exit_code.h"
#include "cli/run_order.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Words = std::vector<std::string>;

Maxima small_machine() {
  Maxima maxima;
  maxima.most.cpus = 2;
  maxima.most.memory = 8 * kGiB;
  maxima.most.processes = 32768;
  maxima.most.open_files = 4096;
  return maxima;
}

RunOrder parse(Words args) {
  auto order = parse_run(args, small_machine);
  EXPECT_TRUE(order) << order.error().message();
  return order ? *order : RunOrder{};
}
RunOrder with(Words options) {
  options.insert(options.end(), {"--", "true"});
  return parse(options);
}

// The message and the hint.
std::string refusal(const Words& args) {
  auto order = parse_run(args, small_machine);
  EXPECT_FALSE(order) << "accepted: " << join(args, " ");
  return order ? "" : order.error().message() + "; " + order.error().hint();
}
std::string refusal_with(Words options) {
  options.insert(options.end(), {"--", "true"});
  return refusal(options);
}

class RunFiles : public ::testing::Test {
 protected:
  RunFiles() {
    char folder[] = "/tmp/cove-cli-XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  ~RunFiles() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  std::string file(const std::string& name, const std::string& data = "") {
    EXPECT_TRUE(sys::write_file(folder_ + "/" + name, data));
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST(Run, TakesTheCommandWithAndWithoutDashes) {
  EXPECT_THAT(parse({"--", "ls", "-l"}).request.exec.argv, ElementsAre("ls", "-l"));
  EXPECT_THAT(parse({"ls", "-l"}).request.exec.argv, ElementsAre("ls", "-l"));
  EXPECT_THAT(parse({"-m", "1g", "ls", "--", "-m"}).request.exec.argv, ElementsAre("ls", "--", "-m"));
}

TEST_F(RunFiles, FiguresAreDrawnOnlyWhereTheyAreLookedAt) {
  std::string code = file("plot.py");
  auto wanted = Pair("MPLBACKEND", "module://cove_figures");
  EXPECT_THAT(parse({"--lang", "python", "--json", code}).request.exec.env, ElementsAre(wanted));
  EXPECT_THAT(parse({"--lang", "python", "--results", "plots", code}).request.exec.env, ElementsAre(wanted));
  EXPECT_EQ(parse({"--lang", "python", "--results", "plots", code}).results, "plots");
  EXPECT_THAT(parse({"--lang", "python", code}).request.exec.env, ElementsAre());
  EXPECT_THAT(parse({"--lang", "python", "--json", "-e", "MPLBACKEND=svg", code}).request.exec.env, ElementsAre());
  EXPECT_THAT(parse({"--lang", "bash", "--json", code}).request.exec.env, ElementsAre());
  EXPECT_THAT(refusal_with({"--results", "plots"}), HasSubstr("--lang python"));
}

TEST(Run, WantsACommand) {
  EXPECT_THAT(refusal({}), HasSubstr("no command"));
  EXPECT_THAT(refusal({"--"}), HasSubstr("no command"));
  EXPECT_THAT(refusal({"--", ""}), HasSubstr("empty"));
}

TEST(Run, HasSafeDefaults) {
  RunOrder order = with({});
  EXPECT_EQ(order.request.sandbox.user, "user");
  EXPECT_EQ(order.request.sandbox.image, "host");
  EXPECT_EQ(order.request.sandbox.workspace.access, Access::None);
  EXPECT_FALSE(order.request.sandbox.limits.memory.named);
  EXPECT_FALSE(order.request.sandbox.nesting);
  EXPECT_EQ(order.request.sandbox.strictness, Strictness::FallBack);
  EXPECT_TRUE(order.request.interactive);
  EXPECT_EQ(order.request.stdio, Stdio::Stream);
}

TEST(Run, ShowsHelpWithoutACommand) {
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"-m", "1g", "-h"}).help);
  EXPECT_FALSE(parse({"ls", "--help"}).help);
}

TEST(Run, DoesNotLookAtTheMachineUnlessALimitIsNamed) {
  auto never = [] {
    ADD_FAILURE() << "looked";
    return Maxima{};
  };
  EXPECT_TRUE(parse_run({"true"}, never));
}

TEST(Run, NamesLimits) {
  Limits limits =
      with({"-m", "512m", "--cpus", "1.5", "--pids-limit=64", "--disk", "100m", "--timeout", "250ms", "--max-output",
            "1k", "--file-size", "2m", "--io-read", "1m", "--io-write", "2m", "--ulimit", "nofile=256"})
          .request.sandbox.limits;
  EXPECT_EQ(limits.memory.value, 512 * kMiB);
  EXPECT_TRUE(limits.memory.named);
  EXPECT_EQ(limits.cpus.value, 1.5);
  EXPECT_EQ(limits.processes.value, 64u);
  EXPECT_EQ(limits.disk.value, 100 * kMiB);
  EXPECT_EQ(limits.timeout.value, std::chrono::milliseconds(250));
  EXPECT_EQ(limits.output.value, kKiB);
  EXPECT_EQ(limits.file_size.value, 2 * kMiB);
  EXPECT_EQ(limits.io_read.value, kMiB);
  EXPECT_EQ(limits.io_write.value, 2 * kMiB);
  EXPECT_EQ(limits.open_files.value, 256u);
}

TEST(Run, TakesTheLastOfARepeatedLimit) {
  EXPECT_EQ(with({"-m", "1g", "-m", "2g"}).request.sandbox.limits.memory.value, 2 * kGiB);
}

TEST(Run, RefusesLimitsThatAreNone) {
  for (const char* flag : {"--memory", "--cpus", "--pids-limit", "--disk", "--timeout", "--max-output", "--file-size",
                           "--io-read", "--io-write"})
    for (const char* value :
         {"0", "-1", "1.5x", "", "abc", "nan", "inf", " 1", "1e99", "99999999999999999999999", "0x10"})
      EXPECT_THAT(refusal_with({flag, value}), HasSubstr(concat(std::string_view(flag), ": "))) << flag << " " << value;
}

TEST(Run, RefusesMoreThanTheMachineHas) {
  EXPECT_THAT(refusal_with({"--memory", "9g"}), HasSubstr("--memory: 9 GiB is more than this machine has (8 GiB)"));
  EXPECT_THAT(refusal_with({"--cpus", "2.5"}), HasSubstr("--cpus: 2.5 is more than this machine has (2)"));
  EXPECT_THAT(refusal_with({"--pids-limit", "40000"}), HasSubstr("--pids-limit: 40000 is more"));
  EXPECT_THAT(refusal_with({"--ulimit", "nofile=5000"}), HasSubstr("--ulimit nofile: 5000 is more"));
  EXPECT_EQ(with({"--cpus", "2"}).request.sandbox.limits.cpus.value, 2);
}

TEST(Run, RefusesTooLittleToRunAnything) {
  EXPECT_THAT(refusal_with({"--memory", "1"}), HasSubstr("--memory: 1 B is less than the least"));
  EXPECT_THAT(refusal_with({"--cpus", "0.001"}), HasSubstr("--cpus: 0.001 is less"));
}

TEST(Run, RefusesUnknownOptionsWithASuggestion) {
  EXPECT_THAT(refusal_with({"--memmory", "1g"}), HasSubstr("unknown option --memmory; did you mean --memory?"));
  EXPECT_THAT(refusal_with({"-z"}), HasSubstr("unknown option -z"));
}

TEST(Run, SetsVariables) {
  ::setenv("COVE_TEST_OWN", "mine", 1);
  ::unsetenv("COVE_TEST_MISSING");
  RunOrder order =
      with({"-e", "A=1", "-eB=x=y", "--env=C=", "-e", "COVE_TEST_OWN", "-e", "COVE_TEST_MISSING", "-e", "A=2"});
  EXPECT_THAT(order.request.sandbox.env,
              ElementsAre(Pair("A", "2"), Pair("B", "x=y"), Pair("C", ""), Pair("COVE_TEST_OWN", "mine")));
}

TEST(Run, RefusesVariablesWithoutAName) {
  EXPECT_THAT(refusal_with({"-e", "=1"}), HasSubstr("-e: '=1' has no name"));
  EXPECT_THAT(refusal_with({"--env="}), HasSubstr("--env: '' has no name"));
}

TEST_F(RunFiles, ReadsVariablesFromAFile) {
  std::string path = file("env", "# comment\n\nA=1\r\nB=two words\n");
  RunOrder order = with({"-e", "A=mine", "--env-file", path});
  EXPECT_THAT(order.request.sandbox.env, ElementsAre(Pair("A", "mine"), Pair("B", "two words")));
}

TEST_F(RunFiles, RefusesBadVariableFiles) {
  EXPECT_THAT(refusal_with({"--env-file", "/nonexistent"}), HasSubstr("--env-file: open /nonexistent: No such file"));
  EXPECT_THAT(refusal_with({"--env-file", file("bad", "A=1\n=2\n")}), HasSubstr("line 2"));
  EXPECT_THAT(refusal_with({"--env-file", file("nul", std::string("A=1\0002", 5))}), HasSubstr("NUL"));
}

TEST(Run, ChecksNamesUsersLabelsAndImages) {
  EXPECT_EQ(with({"--name", "a.b-c_1"}).request.sandbox.name, "a.b-c_1");
  for (const std::string& bad : {std::string(""), std::string("-a"), std::string(".a"), std::string("a b"),
                                 std::string("ä"), std::string(64, 'a'), std::string("a/b")})
    EXPECT_THAT(refusal_with({"--name", bad}), HasSubstr("is not a name")) << bad;
  for (const char* good : {"root", "user", "_apt", "www-data", "0", "1000:1000"})
    EXPECT_EQ(with({"-u", good}).request.sandbox.user, good);
  for (const char* bad : {"", "a b", "-1", "1000:", ":1", "1:x", "4294967295", "99999999999", "a:b", "../x", "1.5x"})
    EXPECT_THAT(refusal_with({"-u", bad}), HasSubstr("is not a user")) << bad;
  EXPECT_THAT(with({"-l", "a=b=c", "--label", "d"}).request.sandbox.labels,
              ElementsAre(Pair("a", "b=c"), Pair("d", "")));
  EXPECT_THAT(refusal_with({"-l", "=x"}), HasSubstr("has no key"));
  EXPECT_EQ(with({"--image", "host@0123456789abcdef"}).request.sandbox.image, "host@0123456789abcdef");
  EXPECT_EQ(with({"--image", "example.org/tools:1"}).request.sandbox.image, "example.org/tools:1");
  EXPECT_EQ(with({"--image", "ubuntu"}).request.sandbox.user, "");
  EXPECT_THAT(refusal_with({"--image", "Ubuntu"}), HasSubstr("--image: 'Ubuntu' is not a valid image name"));
  EXPECT_THAT(refusal_with({"--image", "host@12"}), HasSubstr("16 hexadecimal digits"));
}

NetworkPolicy network_with(std::vector<std::string> args) { return with(std::move(args)).request.sandbox.network; }

TEST(Run, TakesWhatTheNetworkIsToBe) {
  EXPECT_EQ(network_with({"--network", "none"}), NetworkPolicy());
  EXPECT_EQ(network_with({"--network", "standard"}), (NetworkPolicy{.tier = NetworkTier::Standard, .enabled = true}));
  EXPECT_EQ(network_with({"--network", "full"}).tier, NetworkTier::Elevated);
  EXPECT_EQ(network_with({"--allow", "PyPI.org"}),
            (NetworkPolicy{.tier = NetworkTier::Standard, .enabled = true, .allow = {"pypi.org"}}));
  EXPECT_EQ(network_with({"--allow", "a.example", "--network", "full"}).tier, NetworkTier::Elevated);
  EXPECT_FALSE(network_with({"--block", "a.example"}).enabled);
  EXPECT_THAT(network_with({"--block", "a.example", "--network=full"}).block, ElementsAre("a.example"));
}

TEST(Run, SplitsRulesAtTheCommasBetweenThem) {
  EXPECT_THAT(
      network_with({"--allow", "@python,api.example.org,db.example.org:5432,6432,[fd00::]/8", "--allow", "x.example"})
          .allow,
      ElementsAre("@python", "api.example.org", "db.example.org:5432,6432", "[fd00::]/8", "x.example"));
  EXPECT_THAT(network_with({"--allow", "a.example,GET,HEAD b.example/x,c.example"}).allow,
              ElementsAre("a.example", "GET,HEAD b.example/x", "c.example"));
}

TEST(Run, RefusesRulesThatCannotBe) {
  EXPECT_THAT(refusal_with({"--allow", "*"}), HasSubstr("--allow: the rule '*': "));
  EXPECT_THAT(refusal_with({"--block", "a.example,"}), HasSubstr("--block: the rule '': there is no host"));
  EXPECT_THAT(refusal_with({"--allow", "a.example", "--network", "none"}), HasSubstr("'sandbox' has no network"));
  EXPECT_THAT(refusal_with({"--network", "restricted", "--allow", "a.example"}),
              HasSubstr("'restricted' has no network"));
}

TEST(Denials, NameTheRuleThatWouldAllow) {
  const Json denial = {{"host", "example.org"},
                       {"port", 443},
                       {"code", "not_allowed"},
                       {"rule", "example.org:443"},
                       {"hint", "to allow it: cove net allow k3 example.org:443"}};
  EXPECT_EQ(denial_line(denial, "box"),
            "denied: example.org:443 (not on the allow list); allow it with: cove net allow box example.org:443");
  EXPECT_EQ(denial_line(denial, ""),
            "denied: example.org:443 (not on the allow list); allow it with: --allow example.org:443");
}

TEST(Denials, SayWhatElseHelps) {
  EXPECT_EQ(denial_line({{"host", "a.example"}, {"code", "blocked"}, {"hint", "it is blocked by the server"}}, "box"),
            "denied: a.example (on a block list); it is blocked by the server");
  EXPECT_EQ(denial_line({{"host", "a\x1b[2J"}, {"why", "no\n"}, {"code", "new"}}, "box"),
            "denied: a\\x1b[2J (no\\x0a)");
}

TEST(Run, SupportsTiersWithoutNetworkAndKnownRuntimes) {
  EXPECT_EQ(with({"--network", "none", "--runtime=native", "--rm", "--direct", "-i"}).request.sandbox.network,
            NetworkPolicy());
  EXPECT_EQ(with({"--network", "restricted"}).request.sandbox.network.tier, NetworkTier::Restricted);
  EXPECT_THAT(refusal_with({"--network", "host"}), HasSubstr("--network: 'host' is not a network tier"));
  EXPECT_EQ(with({"--runtime", "runsc"}).request.sandbox.runtime, "runsc");
  EXPECT_THAT(refusal_with({"--runtime", "runk"}), HasSubstr("did you mean runc"));
  EXPECT_THAT(refusal_with({"--runtime", "imaginary"}), HasSubstr("native, runc"));
}

TEST(Run, WantsAnAbsoluteWorkingFolder) {
  EXPECT_EQ(with({"-w", "/tmp"}).request.exec.cwd, "/tmp");
  for (const char* bad : {"", "tmp", "../x"})
    EXPECT_THAT(refusal_with({"-w", bad}), HasSubstr("is not an absolute path"));
}

TEST_F(RunFiles, ShowsTheWorkspaceReadOnlyUnlessToldOtherwise) {
  EXPECT_EQ(with({"--workspace", folder_}).request.sandbox.workspace.access, Access::ReadOnly);
  EXPECT_EQ(with({"--workspace", folder_ + ":ro"}).request.sandbox.workspace.access, Access::ReadOnly);
  Workspace workspace = with({"--workspace", folder_ + "/.:rw"}).request.sandbox.workspace;
  EXPECT_EQ(workspace.access, Access::ReadWrite);
  EXPECT_EQ(workspace.path, folder_);
}

TEST_F(RunFiles, RefusesWorkspacesThatAreNoFolders) {
  EXPECT_THAT(refusal_with({"--workspace", folder_ + "/none"}), HasSubstr("No such file"));
  EXPECT_THAT(refusal_with({"--workspace", folder_ + ":wr"}), HasSubstr("No such file"));
  EXPECT_THAT(refusal_with({"--workspace", file("plain")}), HasSubstr("is not a folder"));
  EXPECT_THAT(refusal_with({"--workspace", "/:rw"}), HasSubstr("whole machine"));
  EXPECT_THAT(refusal_with({"--workspace", ":rw"}), HasSubstr("empty"));
}

TEST_F(RunFiles, SplitsCopiesAtTheColon) {
  std::string plain = file("plain"), colon = file("with:colon");
  auto copies = with({"--copy-in", plain, "--copy-in", plain + ":/tmp/x", "--copy-in", colon}).request.copy_in;
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].destination, "");
  EXPECT_EQ(copies[1].source, plain);
  EXPECT_EQ(copies[1].destination, "/tmp/x");
  EXPECT_EQ(copies[2].source, colon);
  auto out = with({"--copy-out", "*.png", "--copy-out", "out/*:" + folder_}).request.copy_out;
  EXPECT_EQ(out[0].glob, "*.png");
  EXPECT_EQ(out[1].glob, "out/*");
  EXPECT_EQ(out[1].folder, folder_);
}

TEST_F(RunFiles, RefusesCopiesThatCannotBe) {
  EXPECT_THAT(refusal_with({"--copy-in", "/nonexistent:/x"}), HasSubstr("--copy-in: stat /nonexistent"));
  EXPECT_THAT(refusal_with({"--copy-in", ":/x"}), HasSubstr("names no file"));
  EXPECT_THAT(refusal_with({"--copy-in", "/dev/null"}), HasSubstr("neither a file nor a folder"));
  EXPECT_THAT(refusal_with({"--copy-out", ":/tmp"}), HasSubstr("names no files"));
  EXPECT_THAT(refusal_with({"--copy-out", "*:" + file("plain")}), HasSubstr("is not a folder"));
}

TEST_F(RunFiles, RunsAFileOfCode) {
  std::string code = file("a.py", "print(1)");
  RunRequest request = parse({"--lang", "python", code, "x", "-y"}).request;
  ASSERT_TRUE(request.code);
  EXPECT_EQ(request.code->language, "python");
  EXPECT_EQ(request.code->file, "/home/user/a.py");
  EXPECT_THAT(request.code->arguments, ElementsAre("x", "-y"));
  EXPECT_EQ(request.sandbox.image, "") << "the language chooses it";
  ASSERT_EQ(request.copy_in.size(), 1u);
  EXPECT_EQ(request.copy_in[0].source, code);
  EXPECT_EQ(request.copy_in[0].destination, "/home/user/a.py");
  EXPECT_EQ(parse({"--lang", "python@3.10", "--image", "mine", code}).request.sandbox.image, "mine");
}

TEST(Run, RunsCodeOnStandardInput) {
  RunOrder order = parse({"--lang", "bash", "-", "x"});
  EXPECT_TRUE(order.code_from_stdin);
  EXPECT_THAT(order.request.code->arguments, ElementsAre("x"));
  const LanguageTable& table = builtin_languages();
  EXPECT_EQ(place_of_code(table, "bash", ""), "/home/user/main.sh");
  EXPECT_EQ(place_of_code(table, "py@3.10", ""), "/home/user/main.py");
  EXPECT_EQ(place_of_code(table, "java", "package a.b; public class Hello {}"), "/home/user/Hello.java");
  EXPECT_EQ(place_of_code(table, "klingon", ""), "/home/user/main");
  EXPECT_FALSE(order.request.interactive);
}

TEST_F(RunFiles, RefusesCodeThatCannotBeRun) {
  EXPECT_THAT(refusal({"--lang", "python"}), HasSubstr("needs a file"));
  EXPECT_THAT(refusal({"--lang", "python", "/nonexistent.py"}), HasSubstr("/nonexistent.py"));
  EXPECT_THAT(refusal({"--lang", "python", folder_}), HasSubstr("is not a file"));
}

TEST(Run, RefusesAnEmptyLanguage) {
  EXPECT_THAT(refusal({"--lang", "", "-"}), HasSubstr("the value of --lang is empty"));
}

TEST(Run, RefusesCommandLinesThatTheKernelRefuses) {
  EXPECT_THAT(refusal({"echo", std::string(128 * kKiB, 'x')}), HasSubstr("the kernel allows 131071"));
  EXPECT_THAT(refusal_with({"-e", "A=" + std::string(128 * kKiB, 'x')}), HasSubstr("the variable A is"));
  Words many(20, std::string(120 * kKiB, 'x'));
  many.insert(many.begin(), "echo");
  EXPECT_THAT(refusal(many), HasSubstr("the command line and the environment are"));
  EXPECT_EQ(parse({"echo", std::string(128 * kKiB - 1, 'x')}).request.exec.argv.size(), 2u);
}

TEST(Run, CapturesForJson) {
  RunOrder order = with({"--json"});
  EXPECT_EQ(order.output, Output::AsJson);
  EXPECT_EQ(order.request.stdio, Stdio::Capture);
  EXPECT_THAT(refusal_with({"--json", "-t"}), HasSubstr("cannot be combined"));
}

TEST(Run, GivesATerminalWhenAsked) {
  EXPECT_FALSE(with({"-i"}).request.exec.pty);
  EXPECT_TRUE(with({"-it"}).request.exec.pty);
}

TEST(ExitCode, IsTheProgramsOwnOrTellsTheSignal) {
  ExecResult result;
  result.exit_code = 3;
  EXPECT_EQ(exit_code_of(result), 3);
  result = {.status = ExecStatus::OomKilled, .signal = 9};
  EXPECT_EQ(exit_code_of(result), 137);
  result = {.status = ExecStatus::Timeout, .signal = 15};
  EXPECT_EQ(exit_code_of(result), 124);
  result = {.status = ExecStatus::Timeout, .exit_code = 0};
  EXPECT_EQ(exit_code_of(result), 124);
}

}  // namespace
}  // namespace cove::cli
