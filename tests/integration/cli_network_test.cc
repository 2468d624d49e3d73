// The network of sandboxes on the command line. No name is looked up outside: what is denied is answered by the
// gateway.
#include "cli_server_fixture.h"

namespace cove::test {
namespace {

class CliNetwork : public CliServer {
 protected:
  // A lookup, in a sandbox.
  static Words lookup(const std::string& host) { return {"getent", "ahostsv4", host}; }
  static Words after(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Json own_policy(const std::string& box) const {
    const Json network = json({"net", "show", box});
    return network["layers"].back()["policy"];
  }
  std::string request_for(const std::string& box, const std::string& host) const {
    for (const Json& request : json({"net", "requests", "-a", box}))
      if (request["host"] == host) return request["id"];
    return "none";
  }
};

TEST_P(CliNetwork, ASandboxIsMadeWithWhatItMayReach) {
  make("box", {"--allow", "@python,API.example.org:443,8443", "--block", "evil.example"});
  const Json policy = own_policy("box");
  EXPECT_EQ(policy["tier"], "standard");
  EXPECT_EQ(policy["allow"], (Json{"@python", "api.example.org:443,8443"}));
  EXPECT_EQ(policy["block"], Json{"evil.example"});
  const std::string shown = cove({"net", "show", "box"}).out;
  EXPECT_TRUE(has(shown, "tier standard")) << shown;
  EXPECT_TRUE(has(shown, "@python, api.example.org:443,8443")) << shown;
}

TEST_P(CliNetwork, CheckSaysWhatWouldHappen) {
  make("box", {"--allow", "@python,api.example.org:8443"});
  Outcome allowed = cove({"net", "check", "box", "pypi.org"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_EQ(allowed.out, "allowed: pypi.org:443, by the rule '@python' of the sandbox\n");
  Outcome denied = cove({"net", "check", "box", "api.example.org:443"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_TRUE(has(denied.out, "denied: ") && has(denied.out, "not on the allow list of the sandbox")) << denied.out;
  EXPECT_EQ(cove({"net", "check", "box", "169.254.169.254:80"}).exit_code, 1);
  EXPECT_EQ(cove({"net", "check", "box", "*.example.org"}).exit_code, 125);
}

TEST_P(CliNetwork, RulesChangeWhileItRuns) {
  make("box");
  EXPECT_EQ(cove({"net", "check", "box", "a.example"}).exit_code, 1);
  EXPECT_EQ(cove({"net", "allow", "box", "a.example", "@go,b.example:22"}).exit_code, 0);
  EXPECT_EQ(cove({"net", "allow", "box", "a.example"}).exit_code, 0);
  EXPECT_EQ(own_policy("box")["allow"], (Json{"a.example", "@go", "b.example:22"}));
  EXPECT_EQ(cove({"net", "check", "box", "a.example"}).exit_code, 0);
  EXPECT_EQ(cove({"net", "block", "box", "a.example"}).exit_code, 0);
  EXPECT_EQ(cove({"net", "check", "box", "a.example"}).exit_code, 1);
  EXPECT_EQ(cove({"net", "block", "--rm", "box", "a.example"}).exit_code, 0);
  EXPECT_EQ(cove({"net", "allow", "--rm", "box", "@go"}).exit_code, 0);
  EXPECT_EQ(own_policy("box")["allow"], (Json{"a.example", "b.example:22"}));
  EXPECT_TRUE(has(cove({"net", "allow", "--rm", "box", "@go"}).err, "the list has no rule '@go'"));
  EXPECT_TRUE(has(cove({"net", "allow", "box", "10.1.2.3/16"}).err, "did you mean 10.1.0.0/16?"));
}

TEST_P(CliNetwork, ADenialIsToldWithWhatWouldAllowIt) {
  make("box", {"--network", "standard"});
  Outcome there = cove(after({"exec", "box", "--"}, lookup("denied.example")));
  EXPECT_NE(there.exit_code, 0);
  EXPECT_TRUE(has(there.err, "cove: denied: denied.example")) << there.err;
  EXPECT_TRUE(has(there.err, "(not on the allow list); allow it with: cove net allow box denied.example")) << there.err;
  EXPECT_EQ(count(there.err, "cove: denied:"), 1u) << there.err;
  Outcome once = cove(after({"run", "--allow", "a.example", "--"}, lookup("other.example")));
  EXPECT_TRUE(has(once.err, "allow it with: --allow other.example")) << once.err;
  const Json result = Json::parse(cove(after({"exec", "--json", "box", "--"}, lookup("third.example"))).out);
  ASSERT_EQ(result["denials"].size(), 1u) << result;
  EXPECT_EQ(result["denials"][0]["host"], "third.example");
}

TEST_P(CliNetwork, TheLogShowsWhatWasDenied) {
  make("box", {"--network", "standard"});
  cove(after({"exec", "box", "--"}, lookup("first.example")));
  const std::string log = cove({"net", "log", "box"}).out;
  EXPECT_TRUE(has(log, "denied") && has(log, "dns") && has(log, "first.example")) << log;
  EXPECT_TRUE(has(cove({"net", "log", "--denied", "box"}).out, "first.example"));
  const std::string lines = cove({"net", "log", "--json", "box"}).out;
  const Json entry = Json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(entry["allowed"], false);
  auto following = start({"net", "log", "-f", "box"}, At::Pipe);
  following->wait_for("first.example");
  cove(after({"exec", "box", "--"}, lookup("second.example")));
  following->wait_for("second.example");
  ::kill(following->pid, SIGTERM);
  following->wait();
}

TEST_P(CliNetwork, RequestsAreApprovedAndRejected) {
  make("box", {"--network", "standard"});
  for (const char* host : {"one.example", "two.example"}) cove(after({"exec", "box", "--"}, lookup(host)));
  const std::string listed = cove({"net", "requests", "box"}).out;
  EXPECT_TRUE(has(listed, "one.example") && has(listed, "pending")) << listed;
  EXPECT_EQ(cove({"net", "check", "box", "one.example"}).exit_code, 1);
  Outcome approved = cove({"net", "requests", "--approve", request_for("box", "one.example"), "box"});
  EXPECT_EQ(approved.exit_code, 0) << approved.err;
  EXPECT_EQ(cove({"net", "check", "box", "one.example"}).exit_code, 0);
  Outcome rejected = cove({"net", "requests", "--reject", request_for("box", "two.example"), "--reason", "no", "box"});
  EXPECT_EQ(rejected.exit_code, 0) << rejected.err;
  EXPECT_EQ(cove({"net", "check", "box", "two.example"}).exit_code, 1);
  EXPECT_FALSE(has(cove({"net", "requests", "box"}).out, "two.example"));
  EXPECT_TRUE(has(cove({"net", "requests", "-a", "box"}).out, "rejected"));
  EXPECT_EQ(cove({"net", "requests", "--approve", "nr_none", "box"}).exit_code, 125);
  EXPECT_EQ(cove({"net", "requests", "--once", "box"}).exit_code, 125);
}

TEST_P(CliNetwork, ACommandMayBeWithoutTheNetworkOfItsSandbox) {
  make("box", {"--network", "standard"});
  const Words connect = {"python3", "-c", "import socket; socket.create_connection(('10.0.2.3', 80)); print('there')"};
  EXPECT_TRUE(has(cove(after({"exec", "box", "--"}, connect)).out, "there"));
  EXPECT_FALSE(has(cove(after({"exec", "--network", "none", "box", "--"}, connect)).out, "there"));
  EXPECT_TRUE(has(cove({"exec", "--network", "full", "box", "true"}).err, "the network of its sandbox, or none"));
}

TEST_P(CliNetwork, WithoutAServerThereIsNone) {
  Outcome direct = cove({"run", "--direct", "--allow", "a.example", "--", "true"});
  EXPECT_EQ(direct.exit_code, 125);
  EXPECT_TRUE(has(direct.err, "leave out --direct")) << direct.err;
  EXPECT_TRUE(
      has(cove_with({"run", "--allow", "a.example", "--", "true"}, {"COVE_DIRECT=1"}).err, "unset COVE_DIRECT"));
  EXPECT_EQ(listener_of(socket()), -1);
  EXPECT_EQ(cove({"run", "--allow", "a.example", "--", "true"}).exit_code, 0);
  EXPECT_GT(listener_of(socket()), 0);
}

TEST_P(CliNetwork, GroupsAreListed) {
  EXPECT_TRUE(has(cove({"net", "groups"}).out, "@python"));
  const Json github = json({"net", "groups", "@github"});
  EXPECT_EQ(github[0]["hosts"][0], (Json{{"rule", "github.com"}, {"receives_data", true}}));
  EXPECT_TRUE(has(cove({"net", "groups", "pyton"}).err, "no such group"));
}

COVE_FOR_EVERYBODY(CliNetwork);

}  // namespace
}  // namespace cove::test
