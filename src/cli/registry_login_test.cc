#include "cli/registry_login.h"

#include <gtest/gtest.h>

namespace cove::cli {
namespace {

// "ann:se:cret" and "ann:".
constexpr const char* kAnn = "YW5uOnNlOmNyZXQ=";
constexpr const char* kAnnAlone = "YW5uOg==";

Result<Json> login(const Json& file, const std::string& registry = "example.org:5000") {
  return login_in(file.dump(), registry, "config.json");
}

TEST(RegistryLogin, IsFoundByTheRegistrysName) {
  Json file = {{"auths", {{"other.org", {{"auth", kAnnAlone}}}, {"example.org:5000", {{"auth", kAnn}}}}}};
  EXPECT_EQ(login(file).value(), Json({{"username", "ann"}, {"password", "se:cret"}}));
  EXPECT_TRUE(login(file, "example.org").value().is_null());
}

TEST(RegistryLogin, IsFoundByAnAddress) {
  Json file = {{"auths", {{"https://example.org:5000/v1/", {{"auth", kAnn}}}}}};
  EXPECT_EQ(login(file).value().at("username"), "ann");
}

TEST(RegistryLogin, OfDockerHubHasAnAddressOfItsOwn) {
  Json file = {{"auths", {{"https://index.docker.io/v1/", {{"auth", kAnn}}}}}};
  EXPECT_EQ(login_in(client::dump(file), "docker.io", "config.json").value().at("username"), "ann");
}

TEST(RegistryLogin, MayBeAnIdentityToken) {
  Json file = {{"auths", {{"example.org:5000", {{"auth", kAnnAlone}, {"identitytoken", "t"}}}}}};
  EXPECT_EQ(login(file).value(), Json({{"username", "ann"}, {"token", "t"}}));
}

TEST(RegistryLogin, OfAHelperIsRefusedByName) {
  Result<Json> one = login({{"credHelpers", {{"example.org:5000", "pass"}}}});
  ASSERT_FALSE(one);
  EXPECT_NE(one.error().message().find("'pass'"), std::string::npos);
  Result<Json> all = login({{"credsStore", "desktop"}, {"auths", {{"example.org:5000", Json::object()}}}});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), Code::Unsupported);
}

TEST(RegistryLogin, IsNoneInAFileWithout) {
  EXPECT_TRUE(login(Json::object()).value().is_null());
  EXPECT_TRUE(login({{"auths", {{"example.org:5000", {{"auth", "???"}}}}}}).value().is_null());
  EXPECT_FALSE(login_in("nonsense", "example.org", "config.json"));
}

}  // namespace
}  // namespace cove::cli
