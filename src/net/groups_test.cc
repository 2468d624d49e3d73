#include "net/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "net/rule.h"

namespace cove::net {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ImageFiles image(std::map<std::string, std::string> files) {
  return {.read = [files](const std::string& path) -> Result<std::string> {
            auto found = files.find(path);
            if (found == files.end()) return fail(Code::NotFound, path);
            return found->second;
          },
          .list =
              [files](const std::string& folder) {
                std::vector<std::string> names;
                for (const auto& [path, text] : files)
                  if (path.starts_with(folder + "/")) names.push_back(path.substr(folder.size() + 1));
                return names;
              }};
}

TEST(NetGroups, HaveSoundRulesAndAreSorted) {
  std::string before;
  for (const Group& group : groups()) {
    EXPECT_LT(before, group.name);
    before = group.name;
    EXPECT_EQ(find_group(group.name), &group);
    EXPECT_TRUE(group.from_image || !group.hosts.empty()) << group.name;
    for (const GroupHost& host : group.hosts) {
      Result<Rule> rule = parse_rule(host.rule);
      ASSERT_TRUE(rule) << host.rule;
      EXPECT_EQ(to_text(*rule), host.rule);
    }
  }
  EXPECT_EQ(find_group("nothing"), nullptr);
}

TEST(NetGroups, ThatPeopleExpectAreThere) {
  for (const char* name : {"python", "node", "debian", "rust", "go", "ruby", "java", "github", "gitlab", "containers",
                           "llm", "php", "dotnet", "playwright"})
    EXPECT_NE(find_group(name), nullptr) << name;
}

TEST(NetGroups, SayWhereDataCanLeave) {
  auto receives = [](const char* group, std::string_view host) {
    for (const GroupHost& one : find_group(group)->hosts)
      if (one.rule == host) return one.receives_data;
    ADD_FAILURE() << host;
    return false;
  };
  EXPECT_TRUE(receives("github", "github.com"));
  EXPECT_TRUE(receives("github", "gist.github.com"));
  EXPECT_TRUE(receives("llm", "api.anthropic.com"));
  EXPECT_TRUE(receives("rust", "crates.io"));
  EXPECT_FALSE(receives("rust", "static.crates.io"));
  EXPECT_FALSE(receives("python", "pypi.org"));
  EXPECT_TRUE(find_group("node")->image_receives_data);
  EXPECT_FALSE(find_group("debian")->image_receives_data);
}

TEST(AptSources, OfOneLineAreRead) {
  EXPECT_THAT(
      hosts_of_apt_sources("# deb http://no.example/ x main\n"
                           "deb http://packages.example/debian stable main\n"
                           "  deb-src [arch=amd64 signed-by=/a.gpg] https://user:pw@Source.example:8443/x stable main\n"
                           "deb [ arch=amd64 ]\thttps://spaced.example/ stable main\n"
                           "deb file:/srv/mirror stable main\ndeb cdrom:[x]/ stable\n"
                           "deb http://packages.example/security stable main # again\n"
                           "debian http://other.example/\n"),
      ElementsAre("packages.example", "source.example:8443", "spaced.example"));
}

TEST(AptSources, OfDeb822AreRead) {
  EXPECT_THAT(hosts_of_apt_sources(
                  "Types: deb\nURIs: http://a.example/debian https://b.example/debian\n"
                  "Suites: stable\n# URIs: http://no.example\nComponents: main\n\n"
                  "Enabled: no\nTypes: deb\nURIs: http://off.example\n\n"
                  "types: deb\nuris:\n http://c.example/x\n\thttp://10.1.2.3:8080/y\nSuites: http://no.example\n"),
              ElementsAre("a.example", "b.example", "c.example", "10.1.2.3:8080"));
}

TEST(AptSources, ThatNameNoHostNameNone) {
  EXPECT_THAT(hosts_of_apt_sources("deb http:// stable\ndeb http://*/ x\ndeb http://127.1/ x\n"
                                   "deb http://a b/ x\ndeb [\ndeb\n\xff\xfe\ndeb http://*.example.org/ x\n"),
              ElementsAre("a"));
  EXPECT_THAT(hosts_of_apt_sources(""), IsEmpty());
}

TEST(Npmrc, RegistriesAreRead) {
  EXPECT_THAT(hosts_of_npmrc("; registry=http://no.example\n#registry=http://no.example\n"
                             "registry = \"https://npm.example/path/\"\n@scope:registry=https://scope.example:4873\n"
                             "//npm.example/:_authToken=secret\nproxy=http://proxy.example\n"
                             "registry=${REGISTRY}\r\nregistry=https://GET npm.example/\n"),
              ElementsAre("npm.example", "scope.example:4873"));
}

TEST(ImageHosts, OfDebianAreThoseOfAptsSources) {
  const ImageFiles files = image({{"/etc/apt/sources.list", "deb http://a.example/ x y\n"},
                                  {"/etc/apt/sources.list.d/b.sources", "Types: deb\nURIs: http://b.example/\n"},
                                  {"/etc/apt/sources.list.d/c.list", "deb http://c.example/ x y\n"},
                                  {"/etc/apt/sources.list.d/d.list.disabled", "deb http://d.example/ x y\n"}});
  EXPECT_THAT(image_hosts(*find_group("debian"), files), ElementsAre("a.example", "b.example", "c.example"));
  EXPECT_THAT(image_hosts(*find_group("python"), files), IsEmpty());
}

TEST(ImageHosts, OfNodeAreThoseOfNpm) {
  const char* definitions = "/usr/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js";
  const std::string text =
      "  'prefix': new Definition('prefix', {\n    default: 'https://no.example',\n  }),\n"
      "  registry: new Definition('registry', {\n    default: 'https://default.example/',\n    type: url,\n  }),\n";
  const Group& node = *find_group("node");
  EXPECT_THAT(image_hosts(node, image({{definitions, text}})), ElementsAre("default.example"));
  EXPECT_THAT(image_hosts(node, image({{definitions, text}, {"/etc/npmrc", "@a:registry=https://a.example"}})),
              ElementsAre("a.example", "default.example"));
  EXPECT_THAT(image_hosts(node, image({{definitions, text}, {"/root/.npmrc", "registry=https://own.example"}})),
              ElementsAre("own.example"));
  EXPECT_THAT(image_hosts(node, image({})), IsEmpty());
}

}  // namespace
}  // namespace cove::net
