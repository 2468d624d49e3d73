#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class Configs : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-config-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    sources_.uid = 0;
    sources_.env = [this](const std::string& variable) -> std::optional<std::string> {
      auto found = env_.find(variable);
      return found == env_.end() ? std::nullopt : std::optional(found->second);
    };
    // For everybody but root there is a default file here; root's may exist on this machine.
    write("");
  }
  void TearDown() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  void write(const std::string& text) {
    sources_.file = folder_ + "/cove.toml";
    ASSERT_TRUE(sys::write_file(sources_.file, text));
  }
  Config load() {
    Result<Config> config = load_config(sources_);
    EXPECT_TRUE(config) << config.error().message();
    return config ? std::move(*config) : Config();
  }
  Error refused() {
    Result<Config> config = load_config(sources_);
    EXPECT_FALSE(config);
    return config ? Error(Code::Internal, "accepted") : config.error();
  }
  Error refused(const std::string& text) {
    write(text);
    return refused();
  }
  static Setting find(const std::vector<Setting>& all, const std::string& name) {
    for (const Setting& each : all)
      if (each.name == name) return each;
    ADD_FAILURE() << "there is no " << name;
    return {};
  }

  std::string folder_;
  std::map<std::string, std::string> env_;
  ConfigSources sources_;
};

std::vector<std::string> listen_texts(const Config& config) {
  std::vector<std::string> texts;
  for (const ListenAddress& address : config.listen) texts.push_back(to_text(address));
  return texts;
}

TEST_F(Configs, RootHasSystemFolders) {
  Config config = load();
  EXPECT_THAT(listen_texts(config), ElementsAre("unix:/run/cove/api.sock"));
  EXPECT_EQ(config.state, "/var/lib/cove");
  EXPECT_EQ(config.max_connections, 1024u);
  EXPECT_EQ(config.max_body, 4u << 20);
  EXPECT_EQ(config.idle_exit, 10min);
  EXPECT_EQ(config.limits.memory.value, 2 * kGiB);
  EXPECT_FALSE(config.allow_insecure);
  EXPECT_THAT(config.sources, IsEmpty());
  sources_.file.clear();
  EXPECT_EQ(default_config_file(sources_), "/etc/cove/cove.toml");
}

TEST_F(Configs, OthersHaveTheirOwn) {
  sources_.uid = 1234;
  EXPECT_THAT(listen_texts(load()), ElementsAre("unix:/tmp/cove-1234/api.sock"));
  EXPECT_EQ(default_config_file(sources_), "");
  env_ = {{"XDG_RUNTIME_DIR", "/run/user/1234"}, {"HOME", "/home/me"}};
  EXPECT_THAT(listen_texts(load()), ElementsAre("unix:/run/user/1234/cove/api.sock"));
  EXPECT_EQ(default_config_file(sources_), "/home/me/.config/cove/cove.toml");
  env_["XDG_CONFIG_HOME"] = folder_;
  EXPECT_EQ(default_config_file(sources_), folder_ + "/cove/cove.toml");
}

TEST_F(Configs, OnlyTheDefaultFileMayBeMissing) {
  sources_.uid = 1234;
  sources_.file.clear();
  env_["XDG_CONFIG_HOME"] = folder_;
  EXPECT_EQ(load().file, "");
  ASSERT_TRUE(sys::make_folders(folder_ + "/cove"));
  ASSERT_TRUE(sys::write_file(folder_ + "/cove/cove.toml", "max_connections = 7"));
  EXPECT_EQ(load().max_connections, 7u);
  EXPECT_EQ(load().file, folder_ + "/cove/cove.toml");
  sources_.file.clear();
  env_["COVE_CONFIG"] = folder_ + "/other.toml";
  EXPECT_EQ(refused().code(), Code::NotFound);
  ASSERT_TRUE(sys::write_file(folder_ + "/other.toml", "max_connections = 8"));
  EXPECT_EQ(load().max_connections, 8u);
  sources_.file = folder_ + "/none.toml";
  EXPECT_EQ(refused().code(), Code::NotFound);
  EXPECT_THAT(refused().message(), HasSubstr("none.toml"));
}

TEST_F(Configs, ReadsEveryKindOfValue) {
  write(R"(
listen = ["unix:/tmp/a.sock", "tcp:127.0.0.1:7070", "tcp:[::1]:0"]
state = "/srv/cove"
allowed_hosts = ["cove.example.org"]
allowed_origins = ["https://cove.example.org", "http://localhost:3000"]
workspace_roots = ["/home", "/srv/work"]
max_body = "1m"
log_level = "debug"
idle_exit = 0
allow_insecure = true

[limits]
cpus = 1.5
memory = 1073741824
timeout = "30s"
grace = "500ms"

[lifecycle]
idle = "1h"
on_expire = "pause"
auto_resume = true

[admission]
sandboxes = 5
memory = "1.5g"

[quotas]
disk = "1t"

[retention]
events = 90.5
execs = 0
)");
  Config config = load();
  EXPECT_THAT(listen_texts(config), ElementsAre("unix:/tmp/a.sock", "tcp:127.0.0.1:7070", "tcp:[::1]:0"));
  EXPECT_EQ(config.listen[2].host, "::1");
  EXPECT_EQ(config.state, "/srv/cove");
  EXPECT_THAT(config.allowed_hosts, ElementsAre("cove.example.org"));
  EXPECT_THAT(config.allowed_origins, ElementsAre("https://cove.example.org", "http://localhost:3000"));
  EXPECT_THAT(config.workspace_roots, ElementsAre("/home", "/srv/work"));
  EXPECT_EQ(config.max_body, kMiB);
  EXPECT_EQ(config.log_level, LogLevel::Debug);
  EXPECT_EQ(config.idle_exit, 0ms);
  EXPECT_EQ(config.retention.events, 90'500ms);
  EXPECT_EQ(config.retention.execs, 0ms);
  EXPECT_TRUE(config.allow_insecure);
  EXPECT_EQ(config.limits.cpus.value, 1.5);
  EXPECT_EQ(config.limits.memory.value, kGiB);
  EXPECT_FALSE(config.limits.memory.named);
  EXPECT_EQ(config.limits.timeout.value, 30s);
  EXPECT_EQ(config.limits.grace.value, 500ms);
  EXPECT_EQ(config.lifecycle.idle, 1h);
  EXPECT_EQ(config.lifecycle.on_expire, OnExpire::Pause);
  EXPECT_TRUE(config.lifecycle.auto_resume);
  EXPECT_EQ(config.admission.sandboxes, 5u);
  EXPECT_EQ(config.admission.memory, 3 * kGiB / 2);
  EXPECT_EQ(config.quotas.disk, 1024 * kGiB);
}

TEST_F(Configs, FlagsWinOverVariablesOverTheFile) {
  write("max_connections = 1\nmax_body = \"1k\"\n[admission]\nsandboxes = 1\n");
  env_ = {{"COVE_MAX_BODY", "2k"}, {"COVE_ADMISSION_SANDBOXES", "2"}, {"COVE_NO_SUCH_THING", "x"}, {"COVE_STATE", ""}};
  sources_.flags = {{"admission-sandboxes", "3"}};
  Config config = load();
  EXPECT_EQ(config.max_connections, 1u);
  EXPECT_EQ(config.max_body, 2048u);
  EXPECT_EQ(config.admission.sandboxes, 3u);
  EXPECT_EQ(config.state, "/var/lib/cove");
  std::vector<Setting> all = settings(config);
  EXPECT_EQ(find(all, "max_connections").source, sources_.file + ":1");
  EXPECT_EQ(find(all, "max_body").source, "COVE_MAX_BODY");
  EXPECT_EQ(find(all, "admission.sandboxes").source, "--admission-sandboxes");
  EXPECT_EQ(find(all, "state").source, "default");
  EXPECT_EQ(find(all, "max_body").value, "2k");
  EXPECT_EQ(find(all, "max_body").default_value, "4m");
}

TEST_F(Configs, ListsComeWithCommasOrSeveralFlags) {
  env_["COVE_LISTEN"] = "unix:/a, unix:/b";
  EXPECT_THAT(listen_texts(load()), ElementsAre("unix:/a", "unix:/b"));
  sources_.flags = {{"listen", "unix:/c"}, {"allow_insecure", ""}, {"--listen", "unix:/d,unix:/e"}};
  EXPECT_THAT(listen_texts(load()), ElementsAre("unix:/c", "unix:/d", "unix:/e"));
  EXPECT_TRUE(load().allow_insecure);
}

TEST_F(Configs, FlagsAreFoundHoweverTheyAreWritten) {
  for (const char* name : {"limits.open_files", "limits-open-files", "--limits-open-files", "limits_open_files"}) {
    sources_.flags = {{name, "77"}};
    EXPECT_EQ(load().limits.open_files.value, 77u) << name;
  }
}

TEST_F(Configs, UnknownNamesAreRefusedWithASuggestion) {
  Error error = refused("\nmax_conections = 5\n");
  EXPECT_EQ(error.code(), Code::Invalid);
  EXPECT_THAT(error.message(), HasSubstr(sources_.file + ":2: unknown setting 'max_conections'"));
  EXPECT_THAT(error.hint(), HasSubstr("'max_connections'"));
  error = refused("[admission]\nsandboxs = 5\n");
  EXPECT_THAT(error.message(), HasSubstr(":2: unknown setting 'admission.sandboxs'"));
  EXPECT_THAT(error.hint(), HasSubstr("'admission.sandboxes'"));
  error = refused("[admision]\nsandboxes = 5\n");
  EXPECT_THAT(error.message(), HasSubstr(":1: unknown setting 'admision'"));
  EXPECT_THAT(error.hint(), HasSubstr("'admission'"));
  error = refused("[admission]\nlog_level = \"info\"\n");
  EXPECT_THAT(error.hint(), HasSubstr("'log_level'")) << "a name of the top below a section";
  EXPECT_THAT(refused("[limits.deeper]\nx = 1\n").message(), HasSubstr("'limits.deeper'"));
  EXPECT_THAT(refused("zzzzzzzzzzzz = 1\n").hint(), HasSubstr("lists all"));
  write("");
  sources_.flags = {{"max-bdy", "1"}};
  EXPECT_THAT(refused().message(), HasSubstr("--max-bdy"));
  EXPECT_THAT(refused().hint(), HasSubstr("--max-body"));
}

TEST_F(Configs, BadValuesSayWhereAndWhatIsAccepted) {
  Error error = refused("\n\n[admission]\nmemory = \"lots\"\n");
  EXPECT_EQ(error.code(), Code::Invalid);
  EXPECT_THAT(error.message(), HasSubstr(sources_.file + ":4: admission.memory: 'lots'"));
  EXPECT_THAT(error.hint(), HasSubstr("admission.memory takes a size, like 512m or 2g, or 0"));
  for (const char* text : {"state = \"relative\"",
                           "state = 5",
                           "state = [\"/a\", \"/b\"]",
                           "listen = \"udp:1\"",
                           "listen = []",
                           "max_connections = 0",
                           "max_connections = 1.5",
                           "max_connections = 99999999",
                           "max_connections = true",
                           "max_body = 0",
                           "max_body = -1",
                           "log_level = \"loud\"",
                           "idle_exit = \"-5s\"",
                           "idle_exit = nan",
                           "allow_insecure = \"maybe\"",
                           "limits.cpus = 0",
                           "limits.cpus = \"two\"",
                           "lifecycle.on_expire = \"explode\"",
                           "lifecycle.idle = 1979-05-27",
                           "lifecycle.idle = [[1]]",
                           "allowed_origins = [\"*\"]",
                           "allowed_origins = [\"https://a/b\"]",
                           "limits = 5",
                           "max_body = {a = 1}",
                           "network.allow = [\"*\"]",
                           "network.allow = [\"@nosuch\"]",
                           "network.block = [\"10.1.2.3/16\"]",
                           "workspace_roots = [\"home\"]"}) {
    Error each = refused(text);
    EXPECT_EQ(each.code(), Code::Invalid) << text;
    EXPECT_THAT(each.message(), HasSubstr(sources_.file + ":1")) << text;
  }
  write("");
  env_["COVE_MAX_BODY"] = "big";
  EXPECT_THAT(refused().message(), HasSubstr("COVE_MAX_BODY: max_body: 'big'"));
  env_.clear();
  sources_.flags = {{"idle-exit", "soon"}};
  EXPECT_THAT(refused().message(), HasSubstr("--idle-exit: idle_exit: 'soon'"));
}

TEST_F(Configs, BrokenTomlSaysTheLine) {
  EXPECT_THAT(refused("state = \"/a\"\nlisten = [\n").message(), HasSubstr(sources_.file + ":"));
  EXPECT_THAT(refused("state = \"/a\"\nstate = \"/b\"\n").message(), HasSubstr(":2"));
  EXPECT_EQ(refused(std::string("state = \"\0\xff\"", 12)).code(), Code::Invalid);
  EXPECT_THAT(refused(std::string((1 << 20) + 1, '#')).message(), HasSubstr("larger"));
}

TEST_F(Configs, TlsNeedsBothHalves) {
  EXPECT_THAT(refused("tls_cert = \"/c.pem\"\n").message(), HasSubstr("tls_cert is set without the other"));
  EXPECT_THAT(refused("tls_key = \"/k.pem\"\n").message(), HasSubstr("tls_key is set without the other"));
}

TEST_F(Configs, TheNetworkNeedsTlsOrAWord) {
  write("");
  for (const char* open : {"tcp:0.0.0.0:7070", "tcp:[::]:7070", "tcp:cove.example.org:7070", "tcp:10.0.0.1:1"}) {
    sources_.flags = {{"listen", open}};
    EXPECT_THAT(refused().message(), HasSubstr(open));
    EXPECT_THAT(refused().hint(), HasSubstr("allow_insecure"));
    sources_.flags = {{"listen", open}, {"allow-insecure", "true"}};
    load();
    sources_.flags = {{"listen", open}, {"tls-cert", "/c"}, {"tls-key", "/k"}};
    load();
  }
  for (const char* closed : {"tcp:127.0.0.1:1", "tcp:localhost:1", "tcp:[::1]:1", "unix:/x"}) {
    sources_.flags = {{"listen", closed}};
    load();
  }
}

TEST_F(Configs, EverySettingGoesThereAndBack) {
  std::vector<Setting> all = settings(load());
  EXPECT_GT(all.size(), 30u);
  std::set<std::string> names, variables, flags;
  for (const Setting& each : all) {
    SCOPED_TRACE(each.name);
    EXPECT_TRUE(names.insert(each.name).second);
    if (each.name.starts_with("languages.")) continue;  // these are in the file only
    EXPECT_TRUE(variables.insert(each.variable).second);
    EXPECT_TRUE(flags.insert(each.flag).second);
    EXPECT_EQ(each.value, each.default_value);
    EXPECT_NE(each.type, "");
    EXPECT_TRUE(each.description.ends_with('.')) << each.description;
    if (each.value.empty()) continue;
    sources_.flags = {{each.flag, each.value}};
    EXPECT_EQ(find(settings(load()), each.name).value, each.value);
    sources_.flags.clear();
    env_ = {{each.variable, each.value}};
    EXPECT_EQ(find(settings(load()), each.name).value, each.value);
    EXPECT_EQ(find(settings(load()), each.name).source, each.variable);
    env_.clear();
  }
}

TEST_F(Configs, TheReferenceHasAllSettings) {
  std::string text = describe_settings();
  for (const Setting& each : settings(load())) EXPECT_THAT(text, HasSubstr(concat("| `", each.name, "` |")));
  EXPECT_THAT(text, HasSubstr("| `max_body` | a size, like 512m or 2g | `4m` |"));
}

TEST(ListenAddress, TakesTheTwoForms) {
  EXPECT_EQ(parse_listen("unix:/a/b")->path, "/a/b");
  EXPECT_EQ(parse_listen("tcp:localhost:80")->port, 80);
  EXPECT_EQ(parse_listen("tcp:[fe80::1]:80")->host, "fe80::1");
  for (const char* text : {"", "unix:", "unix:a", "unix:/a/", "tcp:", "tcp:80", "tcp::80", "tcp:a:", "tcp:a:99999",
                           "tcp:a:-1", "tcp:::1:80", "tcp:[a]:80x", "tcp:[a]:80", "tcp:[]:80", "http://a", "/a"})
    EXPECT_FALSE(parse_listen(text)) << text;
  EXPECT_THAT(parse_listen("unix:/" + std::string(200, 'x')).error().message(), HasSubstr("too long"));
}

const Language& language_of(const Config& config, const std::string& name) {
  return **find_language(config.languages, name);
}

TEST_F(Configs, HasATableOfLanguages) {
  Config config = load();
  EXPECT_EQ(config.languages, builtin_languages());
  EXPECT_EQ(language_of(config, "python").default_version, "3.12");
  EXPECT_EQ(language_of(config, "node").default_version, "20");
}

TEST_F(Configs, LanguagesAndVersionsCanBeAdded) {
  write(R"(
[languages.python]
default = "3.13"
[languages.python.versions."3.13"]
image = "mine/python:3.13"
[languages.python.versions."3.10"]
image = "py10"
command = ["/opt/python/bin/python3.10", "-u", "{file}"]
[languages.nim]
aliases = ["nimrod"]
extension = ".nim"
compile = "nim c -o:{out} {file}"
[languages.zig]
command = "zig run"
)");
  Config config = load();
  const Language& python = language_of(config, "py");
  EXPECT_EQ(python.default_version, "3.13");
  ASSERT_EQ(python.versions.size(), 4u);
  EXPECT_EQ(python.versions[0].image, "py10");
  EXPECT_THAT(python.versions[0].command.run, ElementsAre("/opt/python/bin/python3.10", "-u", "{file}"));
  EXPECT_EQ(python.versions[3].image, "mine/python:3.13");
  EXPECT_THAT(python.versions[3].command.run, ElementsAre("python3", "{file}"));
  const Language& nim = language_of(config, "nimrod");
  EXPECT_THAT(nim.commands[0].compile, ElementsAre("nim", "c", "-o:{out}", "{file}"));
  EXPECT_THAT(nim.commands[0].run, ElementsAre("{out}"));
  EXPECT_THAT(language_of(config, "zig").commands[0].run, ElementsAre("zig", "run", "{file}"));
  std::vector<Setting> all = settings(config);
  auto shown = std::find_if(all.begin(), all.end(),
                            [](const Setting& each) { return each.name == "languages.python.versions.3.10"; });
  ASSERT_NE(shown, all.end());
  EXPECT_EQ(shown->value, "py10: /opt/python/bin/python3.10 -u {file}");
  EXPECT_THAT(shown->source, HasSubstr("cove.toml:6"));
}

TEST_F(Configs, WhatIsWrongWithALanguageIsNamed) {
  auto wrong = [&](const std::string& text) {
    write(text);
    Error error = refused();
    EXPECT_EQ(error.code(), Code::Invalid) << text;
    return error.message() + "; " + error.hint();
  };
  EXPECT_THAT(wrong("[languages.python]\ndefalt = \"3.11\""),
              HasSubstr("cove.toml:2: unknown setting 'languages.python.defalt'; did you mean 'default'?"));
  EXPECT_THAT(wrong("[languages.python.versions.\"3.9\"]\nimages = \"x\""),
              HasSubstr("'languages.python.versions.3.9.images'; did you mean 'image'?"));
  EXPECT_THAT(wrong("[languages.python.versions.3.9]\nimage = \"x\""), HasSubstr("versions.\"3.9\""));
  EXPECT_THAT(wrong("[languages.python]\ndefault = [\"3.11\"]"),
              HasSubstr("languages.python.default: must be a string"));
  EXPECT_THAT(wrong("[languages.python]\ncommand = \"\""), HasSubstr("languages.python.command"));
  EXPECT_THAT(wrong("[languages.cobol]\nextension = \".cob\""), HasSubstr("there is no command to run it"));
  EXPECT_THAT(wrong("[languages.cobol]\ncommand = \"cobc\"\naliases = [\"js\"]"),
              HasSubstr("'js' is also a name of another language"));
  EXPECT_THAT(wrong("[languages.\"Big One\"]\ncommand = \"x\""), HasSubstr("not a valid language name"));
  EXPECT_THAT(wrong("[languages]\npython = \"3.11\""), HasSubstr("[languages.NAME]"));
  EXPECT_THAT(wrong("[language.python]\ndefault = \"3.11\""), HasSubstr("did you mean 'languages'?"));
  EXPECT_THAT(wrong("[pool]\nlanguages = [\"pyton\"]"), HasSubstr("did you mean python?"));
}

}  // namespace
}  // namespace cove
