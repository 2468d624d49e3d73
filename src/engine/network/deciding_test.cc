// What people are told of networks, and decide.
#include "base/json.h"
#include "engine/network/webhook.h"
#include "engine/testing.h"

namespace cove::engine {
namespace {

class DecidingTest : public EngineTest {
 protected:
  std::string make(std::vector<std::string> allow = {"a.example"}, const std::string& image = "") {
    CreateOrder order;
    order.spec.network = {.tier = NetworkTier::Standard, .enabled = true, .allow = std::move(allow)};
    if (!image.empty()) order.spec.image = image;
    return create(order).spec.id;
  }
  Networks& networks() { return engine().networks(); }
  std::vector<NetworkRequest> requests(const std::string& sandbox) {
    return networks().requests(caller(), sandbox).value_or(std::vector<NetworkRequest>());
  }
  // Denied there, as the gateway tells it, and on record.
  NetworkRequest request_for(const std::string& sandbox, const std::string& host,
                             const std::string& layer = "sandbox") {
    net_->tell(FakeNet::denied(sandbox, host, 443, layer));
    EXPECT_TRUE(becomes([&] { return has_event(sandbox, "network.requested"); }));
    return requests(sandbox).back();
  }
  bool has_event(const std::string& sandbox, const std::string& kind) {
    const std::vector<std::string> kinds = event_kinds(sandbox);
    return std::ranges::find(kinds, kind) != kinds.end();
  }
  std::vector<std::string> allowed(const std::string& sandbox) {
    return net_->policy(sandbox).value_or(net::EffectivePolicy{.layers = {{}}}).layers.back().policy.allow;
  }
};

TEST_F(DecidingTest, TheLogIsReadFromANumberOn) {
  const std::string id = make();
  net_->tell(FakeNet::denied(id, "b.example", 443));
  net_->tell(FakeNet::opened(id, "a.example", 443, "a.example"));
  auto all = networks().log(caller(), id, 0, 10).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].entry.host, "b.example");
  auto rest = networks().log(caller(), id, all[0].seq, 10).value();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].seq, all[1].seq);
  EXPECT_CODE(Code::NotFound, networks().log(caller("other"), id, 0, 10));
}

TEST_F(DecidingTest, NumbersOfTheLogRiseOverARestart) {
  const std::string id = make();
  net_->tell(FakeNet::denied(id, "b.example", 443));
  const uint64_t before = networks().log(caller(), id, 0, 10).value().back().seq;
  crash();
  clock_->move(milliseconds(1));
  open();
  net_->tell(FakeNet::denied(id, "b.example", 443));
  EXPECT_GT(networks().log(caller(), id, 0, 10).value().back().seq, before);
}

TEST_F(DecidingTest, WhatAGatewaySaysOfOthersIsNotTaken) {
  make();
  net_->tell(FakeNet::denied("nosuchsandbox", "b.example", 443));
  EXPECT_CODE(Code::NotFound, networks().log(caller(), "nosuchsandbox", 0, 10));
}

TEST_F(DecidingTest, CheckTellsTheVerdict) {
  const std::string id = make({"a.example:443", "10.1.0.0/16"});
  EXPECT_EQ(networks().check(caller(), id, "A.example", 443).value().decision, net::Decision::Allow);
  EXPECT_EQ(networks().check(caller(), id, "a.example", 80).value().decision, net::Decision::Deny);
  EXPECT_EQ(networks().check(caller(), id, "10.1.2.3", 80).value().decision, net::Decision::Allow);
  EXPECT_EQ(networks().check(caller(), id, "127.0.0.1", 80).value().decision, net::Decision::Deny);
  EXPECT_CODE(Code::Invalid, networks().check(caller(), id, "not a name", 80));
}

// --- requests --------------------------------------------------------------------------------------------------------

TEST_F(DecidingTest, ADenialBecomesARequestOnce) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  net_->tell(FakeNet::denied(id, "b.example", 443));
  ASSERT_EQ(requests(id).size(), 1u);
  EXPECT_EQ(requests(id)[0].count, 2u);
  EXPECT_EQ(request.rule, "b.example:443");
  EXPECT_EQ(request.state, "pending");
  net_->tell(FakeNet::denied(id, "c.example", 443, "sandbox", "blocked"));
  EXPECT_EQ(requests(id).size(), 1u) << "no rule would help";
}

TEST_F(DecidingTest, SomebodyInsideMayAsk) {
  const std::string id = make();
  net_->ask_for_access(id, "b.example", 443, "for the tests");
  ASSERT_EQ(requests(id).size(), 1u);
  EXPECT_EQ(requests(id)[0].reason, "for the tests");
  net_->ask_for_access(id, "not a name", 443, "");
  EXPECT_EQ(requests(id).size(), 1u);
}

TEST_F(DecidingTest, ApprovingForTheSessionAddsExactlyThatRule) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  NetworkRequest decided = networks().approve(caller(), id, {.id = request.id}, Approval::Session).value();
  EXPECT_EQ(decided.state, "approved");
  EXPECT_EQ(decided.decided_by, "uid:1000");
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "b.example:443"));
  EXPECT_THAT(find(id).spec.network.allow, ElementsAre("a.example", "b.example:443"));
  EXPECT_TRUE(has_event(id, "network.approved"));
  EXPECT_CODE(Code::Conflict, networks().approve(caller(), id, {.id = request.id}, Approval::Always));
}

TEST_F(DecidingTest, ApprovingNeedsTheScopeAndTheRuleThatWasShown) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  Caller manager = caller();
  manager.scopes = Scopes({Scope::Run, Scope::Manage});
  EXPECT_CODE(Code::Denied, networks().approve(manager, id, {.id = request.id}, Approval::Session));
  EXPECT_CODE(Code::Denied, networks().reject(manager, id, {.id = request.id}, ""));
  EXPECT_CODE(Code::Conflict,
              networks().approve(caller(), id, {.id = request.id, .rule = "b.example"}, Approval::Session));
  EXPECT_CODE(Code::NotFound, networks().approve(caller("other"), id, {.id = request.id}, Approval::Session));
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
}

TEST_F(DecidingTest, AnotherLayersRefusalCannotBeApprovedAway) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example", "project");
  EXPECT_CODE(Code::Conflict, networks().approve(caller(), id, {.id = request.id}, Approval::Session));
  EXPECT_EQ(requests(id)[0].state, "pending");
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
}

TEST_F(DecidingTest, OnceIsUntilTheConnectionHasEnded) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request.id}, Approval::Once));
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "b.example:443"));
  EXPECT_THAT(find(id).spec.network.allow, ElementsAre("a.example")) << "it is not on record";
  net_->tell(FakeNet::opened(id, "a.example", 443, "a.example", 1));
  net_->tell(FakeNet::closed(id, 1));
  net_->tell(FakeNet::opened(id, "b.example", 443, "b.example:443", 2));
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "b.example:443"));
  net_->tell(FakeNet::closed(id, 2));
  EXPECT_TRUE(becomes([&] { return allowed(id) == std::vector<std::string>{"a.example"}; }));
}

TEST_F(DecidingTest, OnceDoesNotOutliveTheServer) {
  const std::string id = make();
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request_for(id, "b.example").id}, Approval::Once));
  crash();
  open();
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
}

TEST_F(DecidingTest, AlwaysIsForAllSandboxesOfTheImage) {
  const std::string id = make(), running = make({"c.example"});
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request_for(id, "b.example").id}, Approval::Always));
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "b.example:443"));
  EXPECT_THAT(allowed(running), ElementsAre("c.example", "b.example:443"));
  EXPECT_THAT(allowed(make({})), ElementsAre("b.example:443"));
  crash();
  open();
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "b.example:443"));
}

TEST_F(DecidingTest, ARuleThatIsWithdrawnNoLongerHolds) {
  const std::string id = make();
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request_for(id, "b.example").id}, Approval::Always));
  const NetworkRuleRecord rule = networks().approved_rules("default").value().at(0);
  EXPECT_EQ(rule.subject, "image:host");
  ASSERT_TRUE(networks().withdraw_rule(caller(), rule));
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
  EXPECT_CODE(Code::NotFound, networks().withdraw_rule(caller(), rule));
}

TEST_F(DecidingTest, AlwaysOfAnAgentIsForThatAgentAlone) {
  SessionOrder order;
  order.agent = "bot";
  order.scope = SessionScope::Agent;
  order.sandbox.network = {.tier = NetworkTier::Standard, .enabled = true};
  const std::string id = sessions().sandbox_for(caller(), order).value().spec.id;
  const std::string other = make();
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request_for(id, "b.example").id}, Approval::Always));
  EXPECT_THAT(allowed(id), ElementsAre("b.example:443"));
  EXPECT_THAT(allowed(other), ElementsAre("a.example"));
}

TEST_F(DecidingTest, ARejectedRequestStaysRejected) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  ASSERT_TRUE(networks().reject(caller(), id, {.rule = "b.example:443"}, "not needed"));
  net_->tell(FakeNet::denied(id, "b.example", 443));
  ASSERT_EQ(requests(id).size(), 1u);
  EXPECT_EQ(requests(id)[0].state, "rejected");
  EXPECT_EQ(requests(id)[0].note, "not needed");
  EXPECT_CODE(Code::Conflict, networks().approve(caller(), id, {.id = request.id}, Approval::Once));
}

TEST_F(DecidingTest, RequestsSurviveTheServerAndEndWithTheSandbox) {
  const std::string id = make();
  const std::string request = request_for(id, "b.example").id;
  crash();
  open();
  ASSERT_EQ(requests(id).size(), 1u);
  ASSERT_TRUE(networks().approve(caller(), id, {.id = request}, Approval::Session));
  ASSERT_TRUE(engine().remove(caller(), id));
  EXPECT_THAT(engine().store().list_network_requests(id).value(), IsEmpty());
}

TEST_F(DecidingTest, AnApprovalThatCannotActIsNotOne) {
  const std::string id = make();
  NetworkRequest request = request_for(id, "b.example");
  net_->refuse_policy(Error(Code::Unavailable, "no answer"));
  EXPECT_FALSE(networks().approve(caller(), id, {.id = request.id}, Approval::Session));
  EXPECT_EQ(requests(id)[0].state, "pending");
}

// --- learning --------------------------------------------------------------------------------------------------------

TEST_F(DecidingTest, WhatWasLearnedIsProposed) {
  CreateOrder order;
  order.spec.network = {.tier = NetworkTier::Standard, .enabled = true, .allow = {"a.example"}, .learn = true};
  const std::string id = create(order).spec.id;
  EXPECT_TRUE(net_->policy(id)->learn);
  net_->tell(FakeNet::opened(id, "a.example", 443, "a.example", 1));
  net_->tell(FakeNet::opened(id, "own.example", 8443, "", 2));
  net_->tell(FakeNet::opened(id, "own.example", 8443, "", 3));
  EXPECT_THAT(networks().learned(caller(), id).value(), ElementsAre("own.example:8443"));
}

// --- secrets ---------------------------------------------------------------------------------------------------------

struct OneSecret : NetworkSecrets {
  Result<void> fill(const SandboxInfo&, net::EffectivePolicy& policy) override {
    if (error) return fail(*error);
    policy.secrets.push_back({.name = "TOKEN", .placeholder = "x", .value = value});
    return {};
  }
  std::string value = "first";
  std::optional<Error> error;
};

TEST_F(DecidingTest, SecretsArePutIntoPoliciesAndRenewed) {
  auto secrets = std::make_shared<OneSecret>();
  networks().set_secrets(secrets);
  const std::string id = make();
  ASSERT_EQ(net_->policy(id)->secrets.size(), 1u);
  secrets->value = "second";
  ASSERT_TRUE(networks().refresh_all("default"));
  EXPECT_EQ(net_->policy(id)->secrets[0].value, "second");
  secrets->error = Error(Code::Unavailable, "sealed");
  EXPECT_FALSE(networks().refresh_all("default"));
  EXPECT_FALSE(net_->attached(id)) << "an old secret is not used on";
  Result<SandboxInfo> made = engine().create(caller(), {.spec = find(id).spec});
  EXPECT_THAT(message_of(made), HasSubstr("sealed"));
}

TEST(WebhookSignature, IsAnHmac) {
  EXPECT_EQ(webhook_signature("key", "The quick brown fox jumps over the lazy dog"),
            "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

}  // namespace
}  // namespace cove::engine
