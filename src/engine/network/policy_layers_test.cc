#include "engine/network/policy_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NetworkPolicy standard(std::vector<std::string> allow = {}) {
  return {.tier = NetworkTier::Standard, .enabled = true, .allow = std::move(allow)};
}

NetworkPolicy of_tier(NetworkTier tier) { return {.tier = tier, .enabled = true}; }

Caller with(std::initializer_list<Scope> scopes) {
  Caller caller;
  caller.scopes = Scopes(scopes);
  return caller;
}

PolicySources unbounded_sources(NetworkPolicy own) {
  const NetworkPolicy none = of_tier(NetworkTier::Unrestricted);
  return {.server = none, .project = none, .agent = none, .own = std::move(own)};
}

std::vector<std::string> names_of(const std::vector<net::PolicyLayer>& layers) {
  std::vector<std::string> names;
  for (const net::PolicyLayer& layer : layers) names.push_back(layer.name);
  return names;
}

TEST(PolicyLayers, LeaveOutBoundsThatBoundNothing) {
  PolicySources sources = unbounded_sources(standard());
  EXPECT_THAT(names_of(layers_of(sources)), ElementsAre("sandbox"));
  sources.project.block = {"evil.example"};
  sources.own_name = "session";
  EXPECT_THAT(names_of(layers_of(sources)), ElementsAre("project", "session"));
  sources.server.tier = NetworkTier::Standard;
  sources.agent.enabled = false;
  EXPECT_THAT(names_of(layers_of(sources)), ElementsAre("server", "project", "agent", "session"));
}

TEST(PolicyLayers, HaveWhatWasApprovedInTheOwnList) {
  PolicySources sources = unbounded_sources(standard({"a.example"}));
  sources.approved = {"b.example:443", "a.example"};
  EXPECT_THAT(layers_of(sources).back().policy.allow, ElementsAre("a.example", "b.example:443"));
  sources.own = NetworkPolicy();
  EXPECT_THAT(layers_of(sources).back().policy.allow, ElementsAre()) << "an approval gives no one a network";
}

TEST(PolicyLayers, HaveTheImagesHostsBehindTheirGroup) {
  std::vector<net::PolicyLayer> layers = {{"sandbox", Role::Own, standard({"@node:443", "a.example"})}};
  int asked = 0;
  auto hosts = [&](const std::string& group) -> Result<std::vector<std::string>> {
    ++asked;
    EXPECT_EQ(group, "node");
    return std::vector<std::string>{"registry.example"};
  };
  ASSERT_TRUE(resolve_image_groups(layers, hosts));
  EXPECT_THAT(layers[0].policy.allow, ElementsAre("@node:443", "registry.example:443", "a.example"));
  EXPECT_EQ(asked, 1);
}

TEST(Widening, IsWhateverLetsMoreThrough) {
  const NetworkPolicy before{.tier = NetworkTier::Standard,
                             .enabled = true,
                             .allow = {"a.example"},
                             .block = {"b.example"},
                             .budget = {.bytes = 100, .connections = 10}};
  auto wider = [&](void (*edit)(NetworkPolicy&), Role role = Role::Own) {
    NetworkPolicy after = before;
    edit(after);
    return widening(before, after, role);
  };
  EXPECT_THAT(wider([](NetworkPolicy& p) { p.allow.push_back("c.example"); }), HasSubstr("c.example"));
  EXPECT_THAT(wider([](NetworkPolicy& p) { p.block.clear(); }), HasSubstr("b.example"));
  EXPECT_THAT(wider([](NetworkPolicy& p) { p.tier = NetworkTier::Elevated; }), HasSubstr("elevated"));
  EXPECT_NE(wider([](NetworkPolicy& p) { p.budget.bytes = 0; }), "");
  EXPECT_NE(wider([](NetworkPolicy& p) { p.budget.bytes = 101; }), "");
  EXPECT_NE(wider([](NetworkPolicy& p) { p.budget.connections = 11; }), "");
  EXPECT_NE(wider([](NetworkPolicy& p) { p.learn = true; }), "");

  EXPECT_EQ(wider([](NetworkPolicy&) {}), "");
  EXPECT_EQ(wider([](NetworkPolicy& p) { p.allow.clear(); }), "");
  EXPECT_EQ(wider([](NetworkPolicy& p) { p.block.push_back("c.example"); }), "");
  EXPECT_EQ(wider([](NetworkPolicy& p) { p.enabled = false; }), "");
  EXPECT_EQ(wider([](NetworkPolicy& p) { p.tier = NetworkTier::Sandbox; }), "");
  EXPECT_EQ(wider([](NetworkPolicy& p) { p.budget.bytes = 99; }), "");
}

TEST(Widening, OfABoundIsTheOtherWayRoundWithAnEmptyList) {
  EXPECT_EQ(widening(standard(), standard({"a.example"}), Role::Bound), "");
  EXPECT_NE(widening(standard({"a.example"}), standard(), Role::Bound), "");
  EXPECT_NE(widening(standard(), standard({"a.example"}), Role::Own), "");
}

TEST(Widening, IsEnablingWhatWasCut) {
  NetworkPolicy cut = standard({"a.example"});
  cut.enabled = false;
  EXPECT_NE(widening(cut, standard({"a.example"}), Role::Own), "");
}

TEST(MakingANetwork, NeedsApproveAboveTheUsualTier) {
  Config config;
  EXPECT_TRUE(check_made(with({Scope::Run}), standard(), config));
  EXPECT_TRUE(check_made(with({Scope::Run}), NetworkPolicy(), config));
  Result<void> elevated = check_made(with({Scope::Run}), of_tier(NetworkTier::Elevated), config);
  ASSERT_FALSE(elevated);
  EXPECT_EQ(elevated.error().code(), Code::Denied);
  EXPECT_EQ(elevated.error().pointer(), "/network/tier");
  EXPECT_TRUE(check_made(with({Scope::Approve}), of_tier(NetworkTier::Unrestricted), config));
  config.network.tier = NetworkTier::Sandbox;
  EXPECT_FALSE(check_made(with({Scope::Run}), standard(), config));
}

TEST(MakingANetwork, NeverExceedsTheServersHighestTier) {
  Config config;
  config.network.max_tier = NetworkTier::Standard;
  EXPECT_TRUE(check_made(with({Scope::Admin}), standard(), config));
  EXPECT_FALSE(check_made(with({Scope::Admin}), of_tier(NetworkTier::Elevated), config));
  EXPECT_FALSE(check_changed(with({Scope::Admin}), standard(), of_tier(NetworkTier::Elevated), config));
}

TEST(MakingANetwork, ThatLearnsNeedsApproveOrTheSetting) {
  Config config;
  NetworkPolicy learns = standard();
  learns.learn = true;
  EXPECT_FALSE(check_made(with({Scope::Run}), learns, config));
  EXPECT_TRUE(check_made(with({Scope::Approve}), learns, config));
  config.network.learn = true;
  EXPECT_TRUE(check_made(with({Scope::Run}), learns, config));
}

TEST(MakingANetwork, WithAddressesThatAreNotPublicNeedsApprove) {
  Config config;
  for (const char* rule : {"127.0.0.1", "127.0.0.0/8", "169.254.169.254:80", "10.0.0.0/8", "0.0.0.0/0", "[::]/0",
                           "[::1]", "[fd00::]/8:443", "[::ffff:127.0.0.1]", "GET 192.168.1.1/status"}) {
    Result<void> made = check_made(with({Scope::Run, Scope::Manage}), standard({"a.example", rule}), config);
    ASSERT_FALSE(made) << rule;
    EXPECT_EQ(made.error().code(), Code::Denied);
    EXPECT_EQ(made.error().pointer(), "/network/allow/1");
    EXPECT_TRUE(check_made(with({Scope::Run, Scope::Approve}), standard({rule}), config)) << rule;
    NetworkPolicy cut = standard({"a.example", rule});
    cut.enabled = false;
    EXPECT_FALSE(check_made(with({Scope::Run}), cut, config)) << "it would be there when the network is enabled";
  }
  EXPECT_TRUE(
      check_made(with({Scope::Run}), standard({"@python", "*.example.org", "44.10.0.0/16", "[2a00::]/16"}), config));
}

TEST(ChangingANetwork, NarrowsWithManageAndWidensWithApprove) {
  Config config;
  const NetworkPolicy wide = standard({"a.example", "b.example"}), narrow = standard({"a.example"});
  EXPECT_FALSE(check_changed(with({Scope::Run}), wide, narrow, config));
  EXPECT_TRUE(check_changed(with({Scope::Manage}), wide, narrow, config));
  EXPECT_TRUE(check_changed(with({Scope::Approve}), wide, narrow, config));
  EXPECT_FALSE(check_changed(with({Scope::Run, Scope::Manage}), narrow, wide, config));
  EXPECT_TRUE(check_changed(with({Scope::Approve}), narrow, wide, config));
}

TEST(ChangingANetwork, RaisesTheTierOneStepAtATime) {
  Config config;
  const Caller caller = with({Scope::Admin});
  EXPECT_TRUE(check_changed(caller, NetworkPolicy(), standard(), config));
  EXPECT_TRUE(check_changed(caller, standard(), of_tier(NetworkTier::Elevated), config));
  Result<void> leap = check_changed(caller, standard(), of_tier(NetworkTier::Unrestricted), config);
  ASSERT_FALSE(leap);
  EXPECT_EQ(leap.error().code(), Code::Conflict);
  EXPECT_FALSE(check_changed(caller, NetworkPolicy(), of_tier(NetworkTier::Elevated), config));
  NetworkPolicy cut = of_tier(NetworkTier::Unrestricted);
  cut.enabled = false;
  EXPECT_FALSE(check_changed(caller, cut, of_tier(NetworkTier::Unrestricted), config)) << "what was cut had none";
  EXPECT_TRUE(check_changed(caller, of_tier(NetworkTier::Unrestricted), standard(), config));
}

}  // namespace
}  // namespace cove::engine
