// `cove session` and `cove execute`, for root and for an ordinary user.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "integration/api_fixture.h"
#include "support/person.h"

namespace cove::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Each test has a state folder of its own, and so a server of its own, which its first command starts.
class CliSessions : public ForEverybody {
 protected:
  CliSessions() : state_(folder()), options_(GetParam().options) {
    EXPECT_EQ(::chmod(state_.c_str(), 0711), 0);
    for (const char* name : {"COVE_HOST=", "COVE_API_KEY=", "COVE_PROJECT=", "COVE_DIRECT="})
      options_.env.push_back(name);
    options_.env.push_back("COVE_STATE=" + state_);
  }
  void TearDown() override {
    Words words = {"rm", "-f"};
    std::istringstream left(cove({"ls", "-aq"}).out);
    for (std::string id; left >> id;) words.push_back(id);
    if (words.size() > 2) cove(words);
    end_server();
    ForEverybody::TearDown();
  }
  // As an administrator ends it; cove-spawn, which started it, goes last.
  void end_server() const {
    pid_t server = 0, spawn = 0;
    std::ifstream(state_ + "/server/lock") >> server;
    if (server <= 0) return;
    std::ifstream status("/proc/" + std::to_string(server) + "/status");
    for (std::string word; status >> word && spawn == 0;)
      if (word == "PPid:") status >> spawn;
    if (spawn <= 1) return;
    ::kill(server, SIGTERM);
    EXPECT_TRUE(comes_true([&] { return ::access(("/proc/" + std::to_string(spawn) + "/exe").c_str(), F_OK) != 0; }));
  }
  Outcome cove(const Words& args, const std::string& input = {}) const {
    ChildOptions options = options_;
    options.input = input;
    return test::cove(args, options);
  }
  std::string start(Words options = {}) const {
    options.insert(options.begin(), {"session", "start"});
    Outcome outcome = cove(options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(0, 20);
  }
  std::string work() {
    std::string path = folder();
    std::ofstream(path + "/note") << "content\n";
    return path;
  }

  std::string state_;
  ChildOptions options_;
};

TEST_P(CliSessions, AreStartedUsedListedAndEnded) {
  std::string id = start({"--agent", "bot", "-e", "A=1"});
  EXPECT_EQ(cove({"session", "exec", id, "--", "sh", "-c", "echo $A > note; exit 3"}).exit_code, 3);
  Outcome outcome = cove({"session", "exec", id, "cat", "note", "-"}, "from stdin");
  EXPECT_EQ(outcome.out, "1\nfrom stdin") << outcome.err;
  std::string table = cove({"session", "ls"}).out;
  EXPECT_THAT(table, HasSubstr("AGENT"));
  EXPECT_THAT(table, HasSubstr(id));
  EXPECT_EQ(cove({"session", "ls", "-q", "--agent", "bot"}).out, id + "\n");
  EXPECT_EQ(cove({"session", "ls", "-q", "--agent", "another"}).out, "");
  EXPECT_EQ(json::parse(cove({"session", "ls", "--json"}).out)[0]["scope"], "session");
  EXPECT_EQ(json::parse(cove({"session", "exec", "--json", id, "--", "echo", "x"}).out)["stdout"]["text"], "x\n");
  EXPECT_EQ(cove({"session", "exec", "--timeout", "200ms", id, "sleep", "9"}).exit_code, 124);
  EXPECT_EQ(cove({"session", "exec", id, "no-such-program"}).exit_code, 127);
  EXPECT_EQ(cove({"session", "exec", "-d", id, "--", "sleep", "100"}).out.size(), 21u);
  EXPECT_EQ(cove({"session", "end", id}).out, id + "\n");
  EXPECT_EQ(cove({"ls", "-aq"}).out, "");
  outcome = cove({"session", "exec", id, "true"});
  EXPECT_EQ(outcome.exit_code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("has ended"));
  EXPECT_THAT(cove({"session", "ls", "-a"}).out, HasSubstr("ended"));
  EXPECT_EQ(cove({"session", "ls", "-q"}).out, "");
}

TEST_P(CliSessions, AgentsKeepTheirSandbox) {
  std::string one = start({"--agent", "bot", "--scope", "agent"});
  cove({"session", "exec", one, "sh", "-c", "echo kept > note"});
  cove({"session", "end", one});
  EXPECT_EQ(cove({"execute", "--agent", "bot", "cat", "note"}).out, "kept\n");
  EXPECT_EQ(cove({"execute", "--scope", "shared", "cat", "note"}).exit_code, 1);
}

TEST_P(CliSessions, ExecuteRunsOneCommandOrCode) {
  Outcome outcome = cove({"execute", "--", "sh", "-c", "echo out; echo err >&2; exit 4"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(cove({"execute", "--lang", "python", "-"}, "print(6*7)").out, "42\n");
  std::string path = work();
  std::ofstream(path + "/code.sh") << "echo from a file\n";
  EXPECT_EQ(cove({"execute", "--lang", "bash", path + "/code.sh"}).out, "from a file\n");
  EXPECT_EQ(cove({"execute", "-i", "-e", "A=1", "--", "sh", "-c", "cat; echo $A"}, "in\n").out, "in\n1\n");
  EXPECT_EQ(cove({"execute", "--timeout", "200ms", "sleep", "9"}).exit_code, 124);
  json result = json::parse(cove({"execute", "--json", "--", "sh", "-c", "echo 1 > made"}).out);
  EXPECT_EQ(result["files"][0]["path"], "made");
  std::string id = start();
  EXPECT_EQ(cove({"execute", "--session", id, "sh", "-c", "echo kept > note"}).exit_code, 0);
  EXPECT_EQ(cove({"session", "exec", id, "cat", "note"}).out, "kept\n");
}

TEST_P(CliSessions, SelectiveSessionsReadOnTheHost) {
  std::string path = work();
  std::string id = start({"--mode", "selective", "--workspace", path + ":rw"});
  json result = json::parse(cove({"session", "exec", "--json", id, "cat", "note"}).out);
  EXPECT_EQ(result["where"], "host") << result;
  EXPECT_EQ(cove({"session", "exec", id, "cat", "note"}).out, "content\n");
  Outcome outcome = cove({"session", "exec", id, "--", "sh", "-c", "echo made > made; echo err >&2; exit 5"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(::access((path + "/made").c_str(), F_OK), 0);
  EXPECT_EQ(cove({"session", "exec", "-i", id, "cat"}, "input").out, "input");
  result = json::parse(cove({"execute", "--mode", "selective", "--workspace", path, "--json", "ls"}).out);
  EXPECT_EQ(result["where"], "host") << result;
  EXPECT_EQ(cove({"execute", "--mode", "off", "true"}).exit_code, 125);
}

TEST_P(CliSessions, HelpWithMistakes) {
  EXPECT_THAT(cove({"session", "strat"}).err, HasSubstr("did you mean start?"));
  EXPECT_THAT(cove({"session", "start", "--scope", "all"}).err, HasSubstr("session, agent, shared"));
  EXPECT_THAT(cove({"session", "start", "--scope", "agent"}).err, HasSubstr("needs an 'agent'"));
  EXPECT_THAT(cove({"session", "start", "--workspace", "/:review"}).err, HasSubstr("whole machine"));
  EXPECT_THAT(cove({"session", "exec", "nosuch", "true"}).err, HasSubstr("there is no session 'nosuch'"));
  EXPECT_THAT(cove({"execute", "--lang", "pyton", "-"}).err, HasSubstr("did you mean python?"));
  EXPECT_THAT(cove({"execute", "--lang", "python", "/no/such/file"}).err, HasSubstr("/no/such/file"));
  EXPECT_THAT(cove({"execute"}).err, HasSubstr("requires more arguments"));
  EXPECT_THAT(cove({"execute", "--session", "nosuch", "true"}).err, HasSubstr("there is no session 'nosuch'"));
  for (const Words& words : {Words{"help", "session"}, Words{"help", "execute"}, Words{"session", "exec", "--help"}})
    EXPECT_THAT(cove(words).out, HasSubstr("Usage: cove"));
}

COVE_FOR_EVERYBODY(CliSessions);

}  // namespace
}  // namespace cove::test
