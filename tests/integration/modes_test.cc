// What runs outside of sandboxes, and what never does.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Calls with a folder to work on that has a file in it.
template <typename Suite>
class WithFolder : public WithServer<Suite> {
 protected:
  using Base = WithServer<Suite>;
  void SetUp() override {
    Base::SetUp();
    if (!Base::server_ || !Base::server_->running()) return;
    folder_ = Base::server_->folder() + "/work";
    ::mkdir(folder_.c_str(), 0755);
    std::ofstream(folder_ + "/note") << "content\n";
  }
  void TearDown() override {
    if (Base::server_ && Base::server_->running()) Base::remove_all();
  }
  json body(const std::string& mode, const json& more) const {
    json all = {{"mode", mode}, {"workspace", {{"path", folder_}, {"access", "rw"}}}};
    all.update(more);
    return all;
  }
  std::string folder_;
};

class Selective : public WithFolder<Selective> {
 public:
  static std::vector<std::string> arguments() { return {"--limits-memory", "256m"}; }

 protected:
  json run(const json& more) const { return execute(body("selective", more)); }
};

TEST_F(Selective, RunsWhatPlainlyOnlyReadsOnTheHost) {
  for (const json& command : std::vector<json>{{{"argv", {"cat", "note"}}}, {{"shell", "cat note"}}}) {
    json result = run(command);
    EXPECT_EQ(result["where"], "host") << result;
    EXPECT_EQ(result["stdout"]["text"], "content\n");
    EXPECT_THAT(result["why"], HasSubstr("mode selective: cat only reads"));
    EXPECT_TRUE(result["sandbox_id"].is_null());
  }
  EXPECT_EQ(count_sandboxes(), 0u);
  uint64_t before = last_event();
  EXPECT_EQ(run({{"argv", {"grep", "missing", "note"}}})["exit_code"], 1);
  std::vector<json> noted = events_since(before, "host.exec");
  ASSERT_EQ(noted.size(), 1u);
  EXPECT_EQ(noted[0]["data"]["argv"], json({"grep", "missing", "note"}));
}

TEST_F(Selective, RunsAllElseInASandbox) {
  struct Case {
    json command;
    const char* why;
  };
  for (const Case& each : {Case{{{"argv", {"rm", "missing"}}}, "'rm' is not on the list"},
                           Case{{{"shell", "cat note > copy"}}, "is a shell metacharacter"},
                           Case{{{"argv", {"cat", "/etc/hostname"}}}, "not in the workspace"},
                           Case{{{"argv", {"cat", "note"}}, {"stdin", "x"}}, "it has input"},
                           Case{{{"argv", {"cat", "note"}}, {"env", {{"LD_PRELOAD", "x"}}}}, "variables"},
                           Case{{{"code", "1"}, {"language", "python"}}, "code"},
                           Case{{{"argv", {"cat", "note"}}, {"outputs", {"*"}}}, "files"}}) {
    json result = run(each.command);
    EXPECT_EQ(result["where"], "sandbox") << result;
    EXPECT_THAT(result["why"], HasSubstr("mode selective: "));
    EXPECT_THAT(result["why"], HasSubstr(each.why));
    EXPECT_TRUE(result["sandbox_id"].is_string());
  }
  EXPECT_EQ(read(folder_ + "/copy"), "content\n") << "the sandbox has the folder, too";
  json result = execute({{"mode", "selective"}, {"argv", {"ls"}}});
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_THAT(result["why"], HasSubstr("there is no workspace"));
  result = over_tcp("/v1/execute", {{"mode", "selective"}, {"argv", {"ls"}}}).json();
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_THAT(result["why"], HasSubstr("Unix socket"));
}

// Commands that are not plainly harmless, each written so that the host would be left with a trace of it: a file in a
// folder that only the host has, or a word in the output that is in no sandbox.
class NotHarmless : public Selective {
 protected:
  void SetUp() override {
    Selective::SetUp();
    if (!server_ || !server_->running()) return;
    canary_ = server_->folder() + "/canary";
    outside_ = server_->folder() + "/outside";
    ::mkdir(canary_.c_str(), 0777);
    ::chmod(canary_.c_str(), 0777);
    ::mkdir(outside_.c_str(), 0755);
    std::ofstream(outside_ + "/file") << "only-outside\n";
    ::mkdir((folder_ + "/sub").c_str(), 0755);
    ::symlink((outside_ + "/file").c_str(), (folder_ + "/link").c_str());
    ::symlink(outside_.c_str(), (folder_ + "/away").c_str());
    ::mkfifo((folder_ + "/pipe").c_str(), 0666);
    std::ofstream(folder_ + "/cat") << "#!/bin/sh\ntouch " << canary_ << "/program\n";
    ::chmod((folder_ + "/cat").c_str(), 0755);
    session_ = start({{"mode", "selective"}, {"workspace", {{"path", folder_}, {"access", "ro"}}}});
  }

  // @ stands for the folder that only the host has, % for the one outside of the workspace.
  std::string filled(std::string text) const {
    for (auto [mark, path] : {std::pair('@', canary_), std::pair('%', outside_)})
      for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += path.size()) text.replace(at, 1, path);
    return text;
  }
  void expect_sandboxed(json body) {
    SCOPED_TRACE(body.dump());
    if (body.contains("shell")) body["shell"] = filled(body["shell"]);
    if (body.contains("argv"))
      for (json& word : body["argv"]) word = filled(word);
    body["limits"] = {{"timeout", "300ms"}};
    HttpResponse response = try_in(session_, body);
    ++tried_;
    // What no sandbox takes either, or a folder that it does not have: nothing was run.
    if (response.status == 400 || response.status == 404) return;
    ASSERT_EQ(response.status, 200) << response.body;
    json result = response.json();
    EXPECT_EQ(result["where"], "sandbox");
    EXPECT_THAT(result["why"], HasSubstr("mode selective: "));
    EXPECT_TRUE(result["sandbox_id"].is_string());
    EXPECT_THAT(result["stdout"].dump(), testing::Not(HasSubstr("only-outside")));
  }
  void expect_unharmed(uint64_t before) {
    EXPECT_EQ(events_since(before, "host.exec").size(), 0u);
    EXPECT_TRUE(std::filesystem::is_empty(canary_));
    EXPECT_EQ(read(folder_ + "/note"), "content\n");
    EXPECT_EQ(read(outside_ + "/file"), "only-outside\n");
  }

  std::string canary_, outside_, session_;
  int tried_ = 0;
};

TEST_F(NotHarmless, TextForAShell) {
  uint64_t before = last_event();
  for (const char* text : {
           "cat note > @/1",
           "cat note >> @/1",
           "cat note >| @/1",
           "cat note 2> @/1",
           "cat note &> @/1",
           "cat <> @/1",
           "cat note | tee @/1",
           "cat note; touch @/1",
           "cat note && touch @/1",
           "cat nothing || touch @/1",
           "cat note & touch @/1",
           "cat $(touch @/1)",
           "cat `touch @/1`",
           "cat <(touch @/1)",
           "cat < %/file",
           "cat <<< $(touch @/1)",
           "cat note\ntouch @/1",
           "cat note\rtouch @/1",
           "cat note # touch @/1",
           "cat *",
           "cat n?te",
           "cat [n]ote",
           "cat {note,%/file}",
           "cat ~/x",
           "cat $HOME",
           "cat ${IFS}note",
           "cat$IFS'note'",
           "cat not\"e\"",
           "c'a't note",
           "'cat' \"$(touch @/1)\"",
           "cat \"`touch @/1`\"",
           "cat \\note",
           "cat note \\; touch @/1",
           "A=1 cat note",
           "LD_PRELOAD=./x.so cat note",
           "PATH=. cat note",
           "BASH_ENV=./cat cat note",
           "env cat note",
           "exec cat note",
           "command cat note",
           "eval cat note",
           ". ./cat",
           "source ./cat",
           "sh -c 'touch @/1'",
           "bash -c 'touch @/1'",
           "sh ./cat",
           "sudo touch @/1",
           "nice touch @/1",
           "timeout 1 touch @/1",
           "xargs touch @/1",
           "(cat note)",
           "{ cat note; }",
           "! cat note",
           "if true; then touch @/1; fi",
           "for i in 1; do touch @/1; done",
           "cat() { touch @/1; }; cat",
           "alias cat='touch @/1'; cat",
           "trap 'touch @/1' EXIT",
           "cat note 'unclosed",
           "cat\tnote",
           "cat note\u00a0%/file",
           "cat\u2003note",
           "cat note\u2028touch @/1",
           "cat note\u0085touch @/1",
           "\uff43at note",
           "cat\u200bnote",
           "cat n\u043ete",
           "cat note\u202e",
           "./cat",
           "./cat note",
           "/bin/../bin/cat note",
           "cat !!",
           "cat ^note^%/file",
           "cat $'\\x6eote'",
           "cat note;",
           "cat note|cat",
           "=cat note",
       })
    expect_sandboxed({{"shell", text}});
  EXPECT_GE(tried_, 70);
  expect_unharmed(before);
}

TEST_F(NotHarmless, ProgramsAndOptionsThatWriteOrRun) {
  uint64_t before = last_event();
  for (const json& argv : std::vector<json>{
           {"find", ".", "-exec", "touch", "@/1", ";"},
           {"find", ".", "-execdir", "touch", "@/1", "+"},
           {"find", ".", "-ok", "touch", "@/1", ";"},
           {"find", ".", "-delete"},
           {"find", ".", "-fprint", "@/1"},
           {"find", ".", "-fprint0", "@/1"},
           {"find", ".", "-fprintf", "@/1", "x"},
           {"find", ".", "-fls", "@/1"},
           {"find", "-L", "."},
           {"find", ".", "-follow"},
           {"find", ".", "-files0-from", "note"},
           {"sort", "-o", "@/1", "note"},
           {"sort", "-o@/1", "note"},
           {"sort", "--output=@/1", "note"},
           {"sort", "--outp", "@/1", "note"},
           {"sort", "-uo", "@/1", "note"},
           {"sort", "--compress-program=./cat", "note"},
           {"sort", "-T", "@", "note"},
           {"sort", "--files0-from=note"},
           {"sort", "-R", "--random-source=%/file", "note"},
           {"rg", "--pre", "./cat", "x"},
           {"rg", "--pre=./cat", "x"},
           {"rg", "--hostname-bin=./cat", "x"},
           {"rg", "-f", "%/file", "."},
           {"rg", "-L", "only-outside"},
           {"rg", "--follow", "only-outside"},
           {"rg", "-z", "x"},
           {"grep", "-f", "%/file", "note"},
           {"grep", "--file=%/file", "note"},
           {"grep", "-R", "only-outside", "."},
           {"grep", "-nf%/file", "note"},
           {"grep", "--dereference-recursive", "only-outside", "."},
           {"grep", "--exclude-from=%/file", "x", "note"},
           {"uniq", "note", "@/1"},
           {"date", "-s", "2001-01-01"},
           {"date", "--set=2001-01-01"},
           {"date", "010100002001"},
           {"date", "-f", "%/file"},
           {"date", "-r", "link"},
           {"diff", "--to-file=%/file", "note"},
           {"diff", "-r", "sub", "away"},
           {"diff", "-l", "note", "note"},
           {"tail", "-f", "note"},
           {"tail", "--follow=name", "note"},
           {"tail", "--pid=1", "note"},
           {"wc", "--files0-from=-"},
           {"du", "--files0-from=note"},
           {"du", "-L", "."},
           {"du", "-D", "away"},
           {"du", "-X", "%/file", "."},
           {"ls", "-L"},
           {"ls", "-H", "away"},
           {"ls", "--dereference", "."},
           {"ls", "--color=always"},
           {"stat", "-L", "link"},
           {"stat", "-f", "."},
           {"readlink", "-f", "link"},
           {"realpath", "link"},
           {"md5sum", "-c", "%/file"},
           {"sha256sum", "--check", "%/file"},
           {"cat", "--help"},
           {"echo", "-e", "x"},
           {"git", "status"},
           {"git", "log"},
           {"git", "-c", "core.pager=./cat", "log"},
           {"sed", "-i", "s/c/d/", "note"},
           {"sed", "-n", "w @/1", "note"},
           {"sed", "1e touch @/1", "note"},
           {"awk", "BEGIN{system(\"touch @/1\")}"},
           {"perl", "-e", "open F,'>@/1'"},
           {"python3", "-c", "open('@/1','w')"},
           {"node", "-e", "1"},
           {"tee", "@/1"},
           {"cp", "note", "@/1"},
           {"mv", "note", "@/1"},
           {"rm", "-f", "note"},
           {"ln", "-s", "note", "@/1"},
           {"touch", "@/1"},
           {"mkdir", "@/1"},
           {"dd", "if=note", "of=@/1"},
           {"install", "note", "@/1"},
           {"chmod", "777", "note"},
           {"truncate", "-s0", "note"},
           {"tar", "cf", "@/1", "note"},
           {"less", "note"},
           {"more", "note"},
           {"man", "ls"},
           {"curl", "file://%/file"},
           {"kill", "-9", "1"},
           {"env", "A=1", "cat", "note"},
           {"printenv"},
           {"tree"},
           {"file", "note"},
           {"strings", "note"},
           {"xxd", "note", "@/1"},
           {"split", "note", "@/1"},
           {"csplit", "note", "1"},
           {"--shell", "cat note"},
           {"--cwd", "/", "cat", "note"},
           {"--in", "..", "cat", "note"},
           {"--names", "cat", "note"},
           {"--", "cat", "note"},
           {"/bin/cat", "note"},
           {"./cat", "note"},
           {"", "cat"},
           {"cat ", "note"},
           {"CAT", "note"},
           {"cat\n", "note"},
       })
    expect_sandboxed({{"argv", argv}});
  EXPECT_GE(tried_, 100);
  expect_unharmed(before);
}

TEST_F(NotHarmless, WaysOutOfTheWorkspace) {
  uint64_t before = last_event();
  for (const json& argv : std::vector<json>{
           {"cat", "link"},
           {"cat", "away/file"},
           {"cat", "%/file"},
           {"cat", "../outside/file"},
           {"cat", "sub/../../outside/file"},
           {"cat", "note", "link"},
           {"cat", "/proc/self/cwd/link"},
           {"cat", "/proc/self/environ"},
           {"cat", "/proc/1/environ"},
           {"cat", "/etc/hostname"},
           {"cat", "/dev/fd/3/../outside/file"},
           {"head", "-c", "5", "link"},
           {"tail", "-1", "link"},
           {"wc", "-l", "link"},
           {"ls", "away"},
           {"ls", "away/"},
           {"ls", ".."},
           {"ls", "/"},
           {"du", "away"},
           {"find", "away/"},
           {"find", "..", "-name", "file"},
           {"grep", "only-outside", "link"},
           {"grep", "-r", "only-outside", "away"},
           {"grep", "-r", "only-outside", ".."},
           {"rg", "only-outside", ".."},
           {"diff", "note", "link"},
           {"cmp", "note", "link"},
           {"sort", "link"},
           {"uniq", "link"},
           {"cut", "-c1-9", "link"},
           {"nl", "link"},
           {"od", "-c", "link"},
           {"sha256sum", "link"},
           {"cat", "pipe"},
           {"grep", "x", "pipe"},
           {"head", "/dev/zero"},
           {"cat", "/workspace/../etc/hostname"},
           {"cat", "sub/nothing/../../link"},
           {"cat", "nothing"},
           {"stat", "away/file"},
           {"realpath", "away/file"},
       })
    expect_sandboxed({{"argv", argv}});
  for (const json& more : std::vector<json>{{{"cwd", "/"}},
                                            {{"cwd", "/workspace/away"}},
                                            {{"cwd", "/workspace/.."}},
                                            {{"cwd", "/etc"}},
                                            {{"cwd", outside_}},
                                            {{"cwd", folder_ + "/away"}},
                                            {{"env", {{"LD_PRELOAD", "./x.so"}}}},
                                            {{"env", {{"PATH", "."}}}},
                                            {{"env", {{"RIPGREP_CONFIG_PATH", "./rc"}}}},
                                            {{"env", {{"LS_COLORS", "x"}}}},
                                            {{"env", {{"POSIXLY_CORRECT", "1"}}}},
                                            {{"stdin", "x"}},
                                            {{"user", "root"}},
                                            {{"pty", {{"rows", 24}, {"cols", 80}}}}}) {
    json body = {{"argv", {"cat", "note"}}};
    body.update(more);
    expect_sandboxed(body);
  }
  EXPECT_GE(tried_, 50);
  expect_unharmed(before);
}

TEST_F(NotHarmless, OthersAreAndSaySo) {
  struct Case {
    json command;
    const char* out;
  };
  for (const Case& each :
       {Case{{{"shell", "cat note"}}, "content\n"}, Case{{{"shell", " wc  -l 'note' "}}, "1 note\n"},
        Case{{{"argv", {"grep", "-rn", "cont", "."}}}, "./note:1:content\n"},
        Case{{{"argv", {"find", ".", "-name", "no*"}}}, "./note\n"},
        Case{{{"argv", {"sort", "-u", "note"}}}, "content\n"}, Case{{{"argv", {"echo", "$HOME", ";"}}}, "$HOME ;\n"},
        Case{{{"argv", {"ls", "sub"}}}, ""}, Case{{{"argv", {"head", "-1", folder_ + "/note"}}}, "content\n"}}) {
    SCOPED_TRACE(each.command.dump());
    json result = run_in(session_, each.command);
    if (*each.out == '\0' && each.command["argv"][0] == "cat") continue;
    EXPECT_EQ(result["where"], "host") << result;
    EXPECT_EQ(result["stdout"]["text"], each.out);
    EXPECT_THAT(result["why"], HasSubstr("only reads"));
  }
}

TEST_F(Selective, HoldsInSessionsToo) {
  std::string id = start(body("selective", json::object()));
  json result = run_in(id, {{"argv", {"cat", "note"}}});
  EXPECT_EQ(result["where"], "host");
  EXPECT_TRUE(session(id)["sandbox_id"].is_null()) << "it needed none";
  EXPECT_EQ(run_in(id, {{"argv", {"touch", "new"}}})["where"], "sandbox");
  EXPECT_EQ(::access((folder_ + "/new").c_str(), F_OK), 0);
  HttpStream stream(server_->socket(), {"POST",
                                        "/v1/sessions/" + id + "/execs",
                                        {{"accept", "text/event-stream"}},
                                        R"({"argv":["cat","note"],"stdin":null})"});
  auto event = stream.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "stdout");
  EXPECT_EQ(event->data, json({{"seq", 1}, {"text", "content\n"}}));
  event = stream.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "exit");
  EXPECT_EQ(event->data["result"]["where"], "host");
  EXPECT_TRUE(!stream.next_event() && stream.whole());
  HttpResponse left = post("/v1/sessions/" + id + "/execs", {{"argv", {"cat", "note"}}});
  EXPECT_EQ(left.status, 201) << "whoever does not wait has an exec in the sandbox";
  // A call cannot loosen what its session has.
  std::string strict = start(body("all", json::object()));
  EXPECT_EQ(execute({{"session", strict}, {"mode", "selective"}, {"argv", {"cat", "note"}}})["where"], "sandbox");
  EXPECT_EQ(execute({{"session", id}, {"mode", "all"}, {"argv", {"cat", "note"}}})["where"], "sandbox");
}

// What the sandbox has changed is not on the host: there it would be read as it was.
TEST_F(Selective, RunsInTheImageOrByTheRuntimeThatIsNamed) {
  HttpResponse other = post("/v1/execute", body("selective", {{"argv", {"cat", "note"}}, {"runtime", "runc"}}));
  EXPECT_THAT(other.body, testing::Not(HasSubstr(R"("where":"host")")));
  EXPECT_EQ(post("/v1/execute", body("selective", {{"argv", {"cat", "note"}}, {"image", "there/is-none"}})).status,
            404);
}

TEST_F(Selective, HoldsALimitThatIsNamedInTheSandbox) {
  json result = execute(body("selective", {{"argv", {"cat", "note"}}, {"limits", {{"memory", "64m"}}}}));
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_EQ(result["limits"]["memory"]["value"], "64 MiB");
}

TEST_F(Selective, ReadsAWorkspaceUnderReviewInTheSandbox) {
  std::string id = start({{"mode", "selective"}, {"workspace", {{"path", folder_}, {"access", "review"}}}});
  run_in(id, {{"shell", "echo changed > note"}});
  json result = run_in(id, {{"argv", {"cat", "note"}}});
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_EQ(result["stdout"]["text"], "changed\n");
  EXPECT_EQ(read(folder_ + "/note"), "content\n");
}

TEST_F(Selective, OffIsRefusedUnlessAllowed) {
  HttpResponse refused = post("/v1/execute", body("off", {{"argv", {"true"}}}));
  expect_refusal(refused, 403, "denied");
  EXPECT_THAT(refused.json()["hint"], HasSubstr("modes.allow_off"));
  expect_refusal(post("/v1/sessions", {{"mode", "off"}}), 403, "denied");
  EXPECT_EQ(call("GET", "/v1/sessions?state=active").json()["items"].size(), 0u);
}

class Off : public WithFolder<Off> {
 public:
  static std::vector<std::string> arguments() { return {"--modes-allow-off", "yes", "--limits-memory", "256m"}; }

 protected:
  json run(const json& more) const { return execute(body("off", more)); }
};

TEST_F(Off, RunsOnTheHostAsTheCallerAndSaysSo) {
  uint64_t before = last_event();
  json result =
      run({{"shell", "pwd; id -u; echo $A; cat; echo err >&2; exit 3"}, {"env", {{"A", "1"}}}, {"stdin", "in\n"}});
  EXPECT_EQ(result["where"], "host");
  EXPECT_THAT(result["why"], HasSubstr("mode off"));
  EXPECT_EQ(result["stdout"]["text"], folder_ + "\n" + std::to_string(::getuid()) + "\n1\nin\n");
  EXPECT_EQ(result["stderr"]["text"], "err\n");
  EXPECT_EQ(result["exit_code"], 3);
  EXPECT_EQ(events_since(before, "host.exec").size(), 1u);
  EXPECT_EQ(count_sandboxes(), 0u);
  EXPECT_EQ(run({{"argv", {"no-such-program"}}})["exit_code"], 127);
  EXPECT_EQ(run({{"argv", {"sleep", "100"}}, {"timeout", "200ms"}})["status"], "timeout");
  EXPECT_EQ(run({{"argv", {"yes"}}, {"limits", {{"output", 1000}}}})["status"], "limit_exceeded");
  EXPECT_EQ(run({{"argv", {"wc", "-c"}}, {"stdin", std::string(1 << 20, 'x')}})["stdout"]["text"], "1048576\n");
  // The server's own environment and descriptors are not passed on.
  json around = run({{"shell", "env; ls /proc/self/fd"}});
  EXPECT_THAT(around["stdout"]["text"], testing::Not(HasSubstr("COVE_")));
  EXPECT_THAT(around["stdout"]["text"], HasSubstr("\n0\n1\n2\n3\n")) << "3 is the folder that ls looks at";
  EXPECT_THAT(around["stdout"]["text"], testing::Not(HasSubstr("\n4\n")));
}

// As an exec in a sandbox would, that somebody waits for.
TEST_F(Off, EndsTheSessionsCommandsWithTheSession) {
  struct Way {
    const char* scope;
    std::function<HttpResponse(const std::string& session, const json& command)> run;
  };
  auto in_session = [](const std::string& session, const json& command) { return try_in(session, command); };
  auto by_execute = [](const std::string& session, json command) {
    command["session"] = session;
    return post("/v1/execute", command);
  };
  for (const Way& way : {Way{"session", in_session}, Way{"shared", in_session}, Way{"session", by_execute}}) {
    std::string id = start(body("off", {{"scope", way.scope}}));
    std::string mark = folder_ + "/pid";
    std::filesystem::remove(mark);
    HttpResponse answer;
    std::thread waits([&] { answer = way.run(id, {{"shell", "echo $$ > pid.new; mv pid.new pid; exec sleep 100"}}); });
    EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(mark); }));
    EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 204);
    waits.join();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json().value("status", ""), "killed") << answer.body;
    EXPECT_NE(::kill(static_cast<pid_t>(std::stol(read(mark))), 0), 0);
    expect_refusal(way.run(id, {{"argv", {"true"}}}), 409, "conflict");
  }
}

TEST_F(Off, RefusesCallersFromElsewhereAndWhatNeedsASandbox) {
  expect_refusal(over_tcp("/v1/execute", {{"mode", "off"}, {"argv", {"true"}}}), 403, "denied");
  expect_refusal(over_tcp("/v1/sessions", {{"mode", "off"}}), 403, "denied");
  for (const json& more : std::vector<json>{{{"code", "1"}, {"language", "python"}},
                                            {{"argv", {"true"}}, {"outputs", {"*"}}},
                                            {{"argv", {"true"}}, {"limits", {{"memory", "64m"}}}},
                                            {{"argv", {"true"}}, {"limits", {{"open_files", 64}}}},
                                            {{"argv", {"true"}}, {"image", "there/is-none"}},
                                            {{"argv", {"true"}}, {"runtime", "runc"}},
                                            {{"argv", {"true"}}, {"files", {{{"path", "x"}, {"text", ""}}}}}})
    expect_refusal(post("/v1/execute", body("off", more)), 400, "invalid");
  expect_refusal(
      post("/v1/execute",
           {{"mode", "off"}, {"shell", "echo x > note"}, {"workspace", {{"path", folder_}, {"access", "review"}}}}),
      400, "invalid");
  // Nothing would keep it from writing.
  for (const json& workspace : {json({{"path", folder_}, {"access", "ro"}}), json({{"path", folder_}})}) {
    expect_refusal(post("/v1/execute", {{"mode", "off"}, {"shell", "echo x > note"}, {"workspace", workspace}}), 400,
                   "invalid");
    expect_refusal(post("/v1/sessions", {{"mode", "off"}, {"workspace", workspace}}), 400, "invalid");
  }
  EXPECT_EQ(read(folder_ + "/note"), "content\n");
  std::string id = start(body("off", json::object()));
  EXPECT_EQ(run_in(id, {{"argv", {"true"}}})["where"], "host");
  expect_refusal(post("/v1/sessions/" + id + "/execs", {{"argv", {"true"}}}), 400, "invalid");
  expect_refusal(over_tcp("/v1/sessions/" + id + "/execs?wait=true", {{"argv", {"true"}}}), 403, "denied");
}

TEST_F(Off, EndsWithItsCaller) {
  PendingRequest caller(server_->socket(), {"POST", "/v1/execute", {}, R"({"mode":"off","shell":"exec sleep 97532"})"});
  ASSERT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97532"}).exit_code == 0; }));
  caller.hang_up();
  EXPECT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97532"}).exit_code != 0; }));
}

TEST_F(Off, EndsWithTheServer) {
  PendingRequest caller(server_->socket(), {"POST", "/v1/execute", {}, R"({"mode":"off","shell":"exec sleep 97533"})"});
  ASSERT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97533"}).exit_code == 0; }));
  server_->kill();
  EXPECT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97533"}).exit_code != 0; }));
  server_->start_again();
}

// Where no sandbox is to be had, nothing is run: not on the host either.
class NoRoom : public WithFolder<NoRoom> {
 public:
  static std::vector<std::string> arguments() {
    return {"--modes-allow-off", "yes", "--admission-sandboxes", "1", "--limits-memory", "256m"};
  }
};

TEST_F(NoRoom, NeverFallsBackToTheHost) {
  ASSERT_EQ(post("/v1/sandboxes", json::object()).status, 201);
  for (const char* mode : {"all", "selective"}) {
    HttpResponse refused = post("/v1/execute", body(mode, {{"shell", "echo x > on-the-host"}}));
    expect_refusal(refused, 429, "exhausted");
    EXPECT_NE(refused.headers["retry-after"], "");
  }
  std::string id = start(body("all", json::object()));
  expect_refusal(try_in(id, {{"shell", "echo x > on-the-host"}}), 429, "exhausted");
  EXPECT_NE(::access((folder_ + "/on-the-host").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace cove::test
