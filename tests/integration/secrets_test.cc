// Secrets with a real server: in execs and nowhere else.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/encoding.h"
#include "integration/server_fixture.h"
#include "support/child.h"
#include "sys/file.h"

namespace cove::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValue = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
constexpr const char* kShown = "[secret TOKEN]";

// The files of the folder that have the text, but for the sandboxes' own files, which are what programs wrote.
std::string file_with(const std::string& folder, const std::string& text) {
  return run({"grep", "-rlaF", "--exclude=pool.img", "-D", "skip", "-e", text, folder}).out;
}

class SecretsUse : public testing::Test {
 protected:
  void serve(std::vector<std::string> args = {}) {
    server_.emplace(std::move(args));
    ASSERT_TRUE(server_->running()) << server_->said();
  }
  HttpResponse call(const std::string& method, const std::string& target, const json& body = nullptr,
                    HeaderMap headers = {}) {
    headers.emplace("content-type", "application/json");
    HttpResponse answer =
        fetch(server_->socket(), {method, target, std::move(headers), body.is_null() ? "" : body.dump()});
    EXPECT_EQ(answer.body.find(kValue), std::string::npos) << method << " " << target << " answers with the value";
    return answer;
  }
  void set(const std::string& name = "TOKEN", const std::string& value = kValue, json more = json::object()) {
    more.update({{"name", name}, {"value", value}});
    HttpResponse answer = call("POST", "/v1/secrets", more);
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  std::string make(json body = {{"secrets", {"TOKEN"}}}) {
    HttpResponse made = call("POST", "/v1/sandboxes", body);
    EXPECT_EQ(made.status, 201) << made.body;
    return "/v1/sandboxes/" + made.json().value("id", "");
  }
  json run(const std::string& sandbox, json body) {
    if (body.is_string()) body = {{"shell", body}};
    HttpResponse answer = call("POST", sandbox + "/execs?wait=true", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  std::string out(const std::string& sandbox, const json& body) { return run(sandbox, body)["stdout"]["text"]; }
  std::string logged(const std::string& sandbox, const json& result) {
    return text_of(sandbox + "/execs/" + result["exec_id"].get<std::string>());
  }
  std::string text_of(const std::string& exec) {
    std::string text;
    const json output = call("GET", exec + "/output").json();
    for (const json& chunk : output["chunks"]) text += chunk["text"].get<std::string>();
    return text;
  }
  std::string state() const { return server_->folder() + "/state"; }
  std::string value_on_disk() const { return file_with(state(), kValue); }

  std::optional<ServerUnderTest> server_;
};

TEST_F(SecretsUse, AreInTheEnvironmentOfExecsAndMaskedInWhatTheyWrite) {
  serve();
  set();
  const std::string sandbox = make();
  EXPECT_EQ(out(sandbox, "printf %s \"$TOKEN\" | wc -c"), "40\n");
  json result = run(sandbox, "echo \"out $TOKEN\"; echo \"err $TOKEN\" >&2; printf %s \"$TOKEN\"");
  EXPECT_EQ(result["stdout"]["text"], std::string("out ") + kShown + "\n" + kShown);
  EXPECT_EQ(result["stderr"]["text"], std::string("err ") + kShown + "\n");
  EXPECT_NE(logged(sandbox, result).find(kShown), std::string::npos);
  // Split over writes, encoded, wrapped, and on a terminal.
  EXPECT_EQ(out(sandbox, "for i in $(seq 1 40); do printf %s \"$TOKEN\" | cut -c$i | tr -d '\\n'; done"), kShown);
  EXPECT_NE(out(sandbox, "printf 'user:%s:and more text behind it' \"$TOKEN\" | base64 -w 20").find(kShown),
            std::string::npos);
  EXPECT_EQ(out(sandbox, {{"shell", "echo $TOKEN; test -t 1 && echo terminal"}, {"pty", {{"rows", 24}, {"cols", 80}}}}),
            std::string(kShown) + "\r\nterminal\r\n");
  // A sandbox without it has nothing.
  EXPECT_EQ(out(make(json::object()), "echo \"[$TOKEN]\""), "[]\n");
}

TEST_F(SecretsUse, AreNowhereOnDiskAndInNoAnswer) {
  serve();
  set();
  const std::string sandbox = make();
  run(sandbox, "echo $TOKEN; exit 3");
  run(sandbox, {{"argv", {"echo", kValue}}});
  run(sandbox, {{"argv", {kValue}}});
  run(sandbox, {{"language", "python"},
                {"code", "import os; print(os.environ['TOKEN']); raise ValueError(os.environ['TOKEN'])"}});
  for (const std::string& target : {sandbox, sandbox + "/execs", std::string("/v1/events?after=0"),
                                    std::string("/v1/secrets"), std::string("/v1/sandboxes")})
    EXPECT_EQ(call("GET", target).status, 200) << target;
  EXPECT_EQ(value_on_disk(), "");
  EXPECT_EQ(file_with(state(), to_base64(kValue).substr(0, 40)), "");
  server_->kill();
  EXPECT_EQ(value_on_disk(), "") << "what a killed server leaves";
  server_->start_again();
  EXPECT_EQ(out(sandbox, "echo $TOKEN"), std::string(kShown) + "\n");
  EXPECT_EQ(call("GET", sandbox).json()["secrets"], json({"TOKEN"}));
  EXPECT_EQ(server_->stop(), 0);
  EXPECT_EQ(value_on_disk(), "");
  server_->start_again();
}

TEST_F(SecretsUse, AreMaskedInContextsAlsoWhereTheyAreSplit) {
  serve();
  set();
  set("PART", "correct horse \"battery\" staple");
  const std::string sandbox = make({{"secrets", {"TOKEN", "PART"}}});
  auto code = [&](const std::string& text) { return run(sandbox, {{"context", "default"}, {"code", text}}); };
  json result = code(
      "import os, sys, time\n"
      "for c in os.environ['TOKEN']:\n"
      "    print(c, end='', flush=True)\n"
      "    time.sleep(0.003)\n"
      "print()\n"
      "print(os.environ['PART'])\n"
      "os.environ['TOKEN']");
  EXPECT_EQ(result["stdout"]["text"], std::string(kShown) + "\n[secret PART]\n");
  EXPECT_EQ(result["results"][0]["formats"]["text"], std::string("'") + kShown + "'") << result;
  result = code("raise RuntimeError(os.environ['PART'])");
  EXPECT_EQ(result["error"]["value"], "[secret PART]") << result;
  EXPECT_EQ(call("POST", sandbox + "/contexts/default/restart").status, 200);
  EXPECT_EQ(code("import os; len(os.environ['TOKEN'])")["results"][0]["formats"]["text"], "40");
  EXPECT_EQ(value_on_disk(), "");
}

TEST_F(SecretsUse, StayMaskedWhenTheServerIsKilledMeanwhile) {
  serve();
  set();
  const std::string sandbox = make();
  HttpResponse started = call(
      "POST", sandbox + "/execs",
      {{"shell", "echo begun $TOKEN; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo end $TOKEN"}, {"detach", true}});
  ASSERT_EQ(started.status, 201);
  const std::string exec = sandbox + "/execs/" + started.json()["id"].get<std::string>();
  auto text = [&] { return text_of(exec); };
  ASSERT_TRUE(comes_true([&] { return text() == std::string("begun ") + kShown + "\n"; })) << text();
  server_->kill();
  server_->start_again();
  run(sandbox, "touch /tmp/go");
  EXPECT_TRUE(comes_true([&] { return text().ends_with(std::string("end ") + kShown + "\n"); })) << text();
  EXPECT_EQ(value_on_disk(), "");
}

TEST_F(SecretsUse, APromptIsShownThoughASecretMayBeginWithIt) {
  serve();
  set();
  const std::string sandbox = make();
  HttpResponse started = call("POST", sandbox + "/execs",
                              {{"shell", "printf 'name: gh'; read name; echo \"hello $name\""},
                               {"stdin", {{"open", true}}},
                               {"pty", {{"rows", 24}, {"cols", 80}}},
                               {"detach", true}});
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string exec = sandbox + "/execs/" + started.json()["id"].get<std::string>();
  EXPECT_TRUE(comes_true([&] { return text_of(exec) == "name: gh"; })) << text_of(exec);
  EXPECT_EQ(call("DELETE", exec).status, 200);
}

TEST_F(SecretsUse, ThatAreBrokeredAreNeverInside) {
  serve();
  set("TOKEN", kValue, {{"use", "brokered"}, {"hosts", {"api.example.org"}}});
  set("OTHER", "another-value-of-an-env-secret");
  const std::string sandbox = make({{"secrets", {"TOKEN", "OTHER"}}, {"env", {{"SSL_CERT_FILE", "/my/own.crt"}}}});
  const std::string placeholder = out(sandbox, "printf %s \"$TOKEN\"");
  EXPECT_EQ(placeholder.size(), std::string(kValue).size());
  EXPECT_TRUE(placeholder.starts_with("ghp_")) << placeholder;
  EXPECT_NE(placeholder, kValue);
  EXPECT_EQ(out(sandbox, "printf %s \"$TOKEN\""), placeholder) << "it stays the same";
  // All that root sees: environments and memory of processes, and files.
  const std::string dump = R"(
import glob, os, sys
needle = bytes.fromhex(sys.stdin.read().strip())[::-1]
found = []
for environ in glob.glob('/proc/[0-9]*/environ'):
    try:
        if needle in open(environ, 'rb').read(): found.append(environ)
    except OSError: pass
for maps in glob.glob('/proc/[0-9]*/maps'):
    if maps.split('/')[2] == str(os.getpid()): continue
    try:
        memory = open(maps.replace('maps', 'mem'), 'rb')
        for line in open(maps):
            begin, end = (int(each, 16) for each in line.split()[0].split('-'))
            try:
                memory.seek(begin)
                if needle in memory.read(end - begin): found.append(line)
            except (OSError, ValueError, OverflowError): pass
    except OSError: pass
for top in ('/etc', '/tmp', '/home', '/root', '/var', '/run', '/dev/shm', '/.cove'):
    for folder, folders, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and needle in open(path, 'rb').read(): found.append(path)
            except OSError: pass
print(found)
)";
  std::string reversed(kValue);
  std::ranges::reverse(reversed);
  std::string hex;
  for (char c : reversed) hex += {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
  json result = run(sandbox, {{"argv", {"python3", "-c", dump}}, {"user", "root"}, {"stdin", hex}});
  EXPECT_EQ(result["stdout"]["text"], "[]\n") << result;
  EXPECT_EQ(value_on_disk(), "");
}

TEST_F(SecretsUse, ThatAreBrokeredBringTrust) {
  serve();
  set("TOKEN", kValue, {{"use", "brokered"}, {"hosts", {"api.example.org"}}});
  const std::string sandbox =
      make({{"secrets", {"TOKEN"}}, {"env", {{"PIP_CERT", "/my/own.crt"}, {"JAVA_TOOL_OPTIONS", "-Xmx1g"}}}});
  EXPECT_EQ(out(sandbox, "echo $PIP_CERT; echo $JAVA_TOOL_OPTIONS | cut -d' ' -f1,2"),
            "/my/own.crt\n-Xmx1g -Djavax.net.ssl.trustStore=/etc/cove/cacerts\n");
  EXPECT_EQ(out(sandbox,
                "for v in SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO "
                "CARGO_HTTP_CAINFO DENO_CERT AWS_CA_BUNDLE npm_config_cafile; do eval \"test -s \\\"\\$$v\\\"\" && "
                "echo ok; done | wc -l"),
            "9\n");
  // The system's bundle has it once, however often the sandbox starts, and the others are still there.
  const std::string look =
      "for f in /etc/ssl/certs/ca-certificates.crt /etc/cove/ca-certificates.crt; do "
      "grep -c 'Cove: the authority' $f; test $(grep -c BEGIN $f) -gt 1 && echo more; done; "
      "head -c 4 /etc/cove/cacerts | od -An -tx1";
  EXPECT_EQ(out(sandbox, look), "1\nmore\n1\nmore\n fe ed fe ed\n");
  EXPECT_EQ(call("POST", sandbox + "/stop", json::object()).status, 200);
  EXPECT_EQ(call("POST", sandbox + "/start").status, 200);
  EXPECT_EQ(out(sandbox, look), "1\nmore\n1\nmore\n fe ed fe ed\n");
  EXPECT_EQ(out(sandbox, "grep -l PRIVATE /etc/cove/*; true"), "");
  EXPECT_EQ(out(make(json::object()), "ls /etc/cove 2>&1; echo $SSL_CERT_FILE"),
            "ls: cannot access '/etc/cove': No such file or directory\n\n");
}

TEST_F(SecretsUse, OfARemovedOneIsRefusedByName) {
  serve();
  set();
  const std::string sandbox = make();
  EXPECT_EQ(call("DELETE", "/v1/secrets/TOKEN").status, 204);
  HttpResponse refused = call("POST", sandbox + "/execs?wait=true", {{"shell", "true"}});
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(refused.body.find("there is no secret 'TOKEN'"), std::string::npos) << refused.body;
  set("TOKEN", "another value");
  EXPECT_EQ(out(sandbox, "printf %s \"$TOKEN\" | wc -c"), "13\n");
}

TEST_F(SecretsUse, WithAnotherKeyAreUnavailable) {
  serve();
  set();
  const std::string sandbox = make(), other = make(json::object());
  ASSERT_EQ(server_->stop(), 0);
  const std::string key = state() + "/server/secrets.key", kept = server_->folder() + "/kept";
  fs::rename(key, kept);
  server_->start_again();
  HttpResponse refused = call("POST", sandbox + "/execs?wait=true", {{"shell", "true"}});
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_NE(refused.body.find("their key is missing"), std::string::npos) << refused.body;
  EXPECT_EQ(out(other, "echo works"), "works\n");
  EXPECT_EQ(call("GET", "/v1/secrets").json()["items"].size(), 1u);
  ASSERT_EQ(server_->stop(), 0);
  fs::rename(kept, key);
  server_->start_again();
  EXPECT_EQ(out(sandbox, "echo $TOKEN"), std::string(kShown) + "\n");
}

TEST_F(SecretsUse, AreSetFromTheCommandLine) {
  serve();
  const std::vector<std::string> env = {"COVE_HOST=unix:" + server_->socket().path};
  auto secret = [&](std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.begin(), "secret");
    return cove(words, {.input = input, .env = env});
  };
  EXPECT_EQ(secret({"set", "TOKEN"}, std::string(kValue) + "\n").exit_code, 0);
  Outcome shown =
      cove({"run", "--secret", "TOKEN", "--", "sh", "-c", "echo $TOKEN; printf %s \"$TOKEN\" | wc -c"}, {.env = env});
  EXPECT_EQ(shown.out, std::string(kShown) + "\n40\n") << shown.err;
  EXPECT_EQ(secret({"set", "TOKEN", "--command", "printf 'made by a command\\n'"}).exit_code, 0);
  shown = cove({"run", "--secret", "TOKEN", "--", "sh", "-c", "printf %s \"$TOKEN\" | wc -c"}, {.env = env});
  EXPECT_EQ(shown.out, "17\n") << shown.err;
  Outcome listed = secret({"list"});
  EXPECT_NE(listed.out.find("TOKEN  env"), std::string::npos) << listed.out;
  EXPECT_EQ(secret({"rotate"}).exit_code, 0);
  shown = cove({"run", "--secret", "TOKEN", "--", "sh", "-c", "printf %s \"$TOKEN\" | wc -c"}, {.env = env});
  EXPECT_EQ(shown.out, "17\n") << shown.err;
  EXPECT_NE(secret({"set", "PIN"}, "123").err.find("not masked"), std::string::npos);
  EXPECT_EQ(secret({"rm", "TOKEN"}).exit_code, 0);
  EXPECT_EQ(secret({"set", "EMPTY"}, "\n").exit_code, 125);
  EXPECT_EQ(secret({"set", "BIG"}, std::string(1 << 20, 'x')).exit_code, 125);
  EXPECT_NE(secret({"set", "NAME=value"}, "x").exit_code, 0);
  EXPECT_EQ(cove({"run", "--direct", "--secret", "PIN", "--", "true"}, {.env = env}).exit_code, 125);
}

}  // namespace
}  // namespace cove::test
