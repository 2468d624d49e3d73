// The life of a sandbox's network, over a machine and a gateway in memory.
#include "engine/testing.h"

namespace cove::engine {
namespace {

NetworkPolicy standard(std::vector<std::string> allow = {"a.example"}) {
  return {.tier = NetworkTier::Standard, .enabled = true, .allow = std::move(allow)};
}

CreateOrder with_network(NetworkPolicy policy = standard()) {
  CreateOrder order;
  order.spec.network = std::move(policy);
  return order;
}

Caller with(std::initializer_list<Scope> scopes) {
  Caller caller;
  caller.actor = "key:test";
  caller.scopes = Scopes(scopes);
  return caller;
}

class NetworksTest : public EngineTest {
 protected:
  // The sandbox's own list, as the gateway has it.
  std::vector<std::string> allowed(const std::string& sandbox) {
    std::optional<net::EffectivePolicy> policy = net_->policy(sandbox);
    return policy ? policy->layers.back().policy.allow : std::vector<std::string>{"(nothing is served)"};
  }
  uint64_t version(const std::string& sandbox) {
    std::optional<net::EffectivePolicy> policy = net_->policy(sandbox);
    return policy ? policy->version : 0;
  }
  Result<SandboxInfo> change(const std::string& sandbox, NetworkChange change) {
    return engine().update(caller(), sandbox, {.network = std::move(change)});
  }
};

TEST_F(NetworksTest, OneWithoutANetworkHasNoneSetUp) {
  const std::string id = create().spec.id;
  EXPECT_EQ(machine_.networks_opened(id), 0u);
  EXPECT_FALSE(net_->attached(id));
}

TEST_F(NetworksTest, ItIsReadyWhenTheSandboxIs) {
  const std::string id = create(with_network()).spec.id;
  EXPECT_TRUE(net_->attached(id));
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
  EXPECT_EQ(machine_.networks_opened(id), 1u);
}

TEST_F(NetworksTest, NoSandboxIsMadeWhoseNetworkCannotBe) {
  machine_.refuse_network(Error(Code::Unavailable, "no sockets"));
  Result<SandboxInfo> made = engine().create(caller(), with_network());
  EXPECT_THAT(message_of(made), HasSubstr("no sockets"));
  machine_.refuse_network(std::nullopt);
  net_->refuse_attach(Error(Code::Unavailable, "no gateway"));
  EXPECT_THAT(message_of(engine().create(caller(), with_network())), HasSubstr("no gateway"));
  net_->refuse_attach(std::nullopt);
  net_->refuse_policy(Error(Code::Unavailable, "no answer"));
  EXPECT_THAT(message_of(engine().create(caller(), with_network())), HasSubstr("no answer"));
  EXPECT_THAT(machine_.remains(), IsEmpty());
  EXPECT_EQ(engine().usage("").value().sandboxes, 0u);
}

TEST_F(NetworksTest, ARuntimeThatHasNoneSaysSo) {
  machine_.set_capabilities({.name = "native", .adopt = true});
  Result<SandboxInfo> made = engine().create(caller(), with_network());
  EXPECT_CODE(Code::Unsupported, made);
  EXPECT_THAT(message_of(made), HasSubstr("'native'"));
  SessionOrder order;
  order.sandbox.network = standard();
  EXPECT_CODE(Code::Unsupported, sessions().start(caller(), order));
}

TEST_F(NetworksTest, RulesAreCheckedWhenItIsMade) {
  Result<SandboxInfo> made = engine().create(caller(), with_network(standard({"a.example", "*"})));
  EXPECT_CODE(Code::Invalid, made);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().pointer(), "/network/allow/1");
  EXPECT_CODE(Code::Invalid, engine().create(caller(), with_network(standard({"@nosuchgroup"}))));
}

TEST_F(NetworksTest, AHigherTierNeedsApprove) {
  NetworkPolicy elevated{.tier = NetworkTier::Elevated, .enabled = true};
  EXPECT_CODE(Code::Denied, engine().create(with({Scope::Run}), with_network(elevated)));
  EXPECT_TRUE(engine().create(with({Scope::Run, Scope::Approve}), with_network(elevated)));
}

TEST_F(NetworksTest, ItEndsWithTheSandboxAndComesBackWithIt) {
  const std::string id = create(with_network()).spec.id;
  ASSERT_TRUE(engine().stop(caller(), id, milliseconds(0)));
  EXPECT_FALSE(net_->attached(id));
  ASSERT_TRUE(engine().start(caller(), id));
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
  EXPECT_EQ(machine_.networks_opened(id), 2u);
  ASSERT_TRUE(engine().remove(caller(), id));
  EXPECT_FALSE(net_->attached(id));
}

TEST_F(NetworksTest, OneThatCannotHaveItDoesNotStart) {
  const std::string id = create(with_network()).spec.id;
  ASSERT_TRUE(engine().stop(caller(), id, milliseconds(0)));
  net_->refuse_policy(Error(Code::Unavailable, "no answer"));
  EXPECT_FALSE(engine().start(caller(), id));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_THAT(machine_.running(), IsEmpty());
  EXPECT_FALSE(net_->attached(id));
}

TEST_F(NetworksTest, TheNextServerTakesItUp) {
  const std::string id = create(with_network()).spec.id;
  const std::string none = create().spec.id;
  crash();
  open();
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
  EXPECT_EQ(machine_.networks_opened(id), 2u);
  EXPECT_EQ(machine_.networks_opened(none), 0u);
}

TEST_F(NetworksTest, ASandboxOutlivesANetworkThatCannotBeTakenUp) {
  const std::string id = create(with_network()).spec.id;
  crash();
  machine_.refuse_network(Error(Code::Unavailable, "no sockets"));
  open();
  EXPECT_EQ(state_of(id), State::Running);
  EXPECT_FALSE(net_->attached(id));
  EXPECT_EQ(run(id, {"print", "hello"}).out, "hello");
}

// --- changes ---------------------------------------------------------------------------------------------------------

TEST_F(NetworksTest, AChangeActsAtOnceAndIsOnRecord) {
  const std::string id = create(with_network()).spec.id;
  const uint64_t before = version(id);
  ASSERT_TRUE(change(id, {.allow = {{"b.example"}}}));
  EXPECT_THAT(allowed(id), ElementsAre("b.example"));
  EXPECT_EQ(version(id), before + 1);
  EXPECT_THAT(event_kinds(id), testing::Contains("network.changed"));
  crash();
  open();
  EXPECT_THAT(allowed(id), ElementsAre("b.example"));
  EXPECT_EQ(version(id), before + 1);
}

TEST_F(NetworksTest, OneWithoutANetworkGetsItWhileItRuns) {
  const std::string id = create().spec.id;
  ASSERT_TRUE(change(id, {.allow = {{"b.example"}}}));
  EXPECT_EQ(machine_.networks_opened(id), 1u);
  EXPECT_THAT(allowed(id), ElementsAre("b.example"));
}

TEST_F(NetworksTest, ACutNetworkLetsNothingThrough) {
  const std::string id = create(with_network()).spec.id;
  ASSERT_TRUE(change(id, {.enabled = false}));
  std::optional<net::EffectivePolicy> policy = net_->policy(id);
  ASSERT_TRUE(policy);
  EXPECT_FALSE(net::CompiledPolicy::compile(policy->layers).value().has_network());
  ASSERT_TRUE(change(id, {.enabled = true}));
  EXPECT_TRUE(net::CompiledPolicy::compile(net_->policy(id)->layers).value().has_network());
  EXPECT_EQ(machine_.networks_opened(id), 1u);
}

TEST_F(NetworksTest, AChangeThatCannotActLeavesNoNetwork) {
  const std::string id = create(with_network()).spec.id;
  net_->refuse_policy(Error(Code::Unavailable, "no answer"));
  EXPECT_FALSE(change(id, {.allow = std::vector<std::string>()}));
  EXPECT_FALSE(net_->attached(id));
  EXPECT_THAT(find(id).spec.network.allow, IsEmpty());
}

TEST_F(NetworksTest, AStoppedSandboxHasItsNewPolicyWhenItStarts) {
  const std::string id = create(with_network()).spec.id;
  ASSERT_TRUE(engine().stop(caller(), id, milliseconds(0)));
  ASSERT_TRUE(change(id, {.allow = {{"b.example"}}}));
  EXPECT_FALSE(net_->attached(id));
  ASSERT_TRUE(engine().start(caller(), id));
  EXPECT_THAT(allowed(id), ElementsAre("b.example"));
}

TEST_F(NetworksTest, WideningNeedsApproveAndNarrowingManage) {
  const std::string id = create(with_network(standard({"a.example", "b.example"}))).spec.id;
  auto as = [&](std::initializer_list<Scope> scopes, std::vector<std::string> allow) {
    return engine().update(with(scopes), id, {.network = NetworkChange{.allow = std::move(allow)}});
  };
  EXPECT_CODE(Code::Denied, as({Scope::Run}, {"a.example"}));
  EXPECT_TRUE(as({Scope::Run, Scope::Manage}, {"a.example"}));
  EXPECT_CODE(Code::Denied, as({Scope::Run, Scope::Manage}, {"a.example", "c.example"}));
  EXPECT_TRUE(as({Scope::Run, Scope::Approve}, {"a.example", "c.example"}));
  EXPECT_THAT(allowed(id), ElementsAre("a.example", "c.example"));
}

// --- bounds ----------------------------------------------------------------------------------------------------------

TEST_F(NetworksTest, AProjectsBoundActsOnWhatRuns) {
  const std::string id = create(with_network()).spec.id;
  const uint64_t before = version(id);
  ASSERT_TRUE(engine().networks().set_bound(caller(), "default", "", {.block = {{"a.example"}}}));
  ASSERT_EQ(net_->policy(id)->layers.size(), 2u);
  EXPECT_EQ(net_->policy(id)->layers[0].name, "project");
  EXPECT_GT(version(id), before);
  EXPECT_EQ(engine().networks().check(caller(), id, "a.example", 443).value().decision, net::Decision::Deny);
  const std::string later = create(with_network()).spec.id;
  EXPECT_EQ(net_->policy(later)->layers[0].name, "project");
  crash();
  open();
  EXPECT_EQ(net_->policy(id)->layers[0].policy.block, std::vector<std::string>{"a.example"});
}

TEST_F(NetworksTest, AnAgentsBoundIsForItsSandboxesAlone) {
  ASSERT_TRUE(engine().networks().set_bound(caller(), "default", "bot", {.tier = NetworkTier::Sandbox}));
  auto sandbox_of = [&](const std::string& agent, SessionScope scope) {
    SessionOrder order;
    order.agent = agent;
    order.scope = scope;
    order.sandbox.network = standard();
    SessionInfo session = sessions().start(caller(), order).value();
    return sessions().sandbox_for(caller(), session).value().spec.id;
  };
  for (SessionScope scope : {SessionScope::Session, SessionScope::Agent}) {
    EXPECT_EQ(net_->policy(sandbox_of("bot", scope))->layers[0].name, "agent");
    EXPECT_EQ(net_->policy(sandbox_of("other", scope))->layers.size(), 1u);
  }
}

TEST_F(NetworksTest, WideningABoundNeedsApprove) {
  ASSERT_TRUE(engine().networks().set_bound(with({Scope::Run}), "default", "", {.allow = {{"a.example"}}}));
  EXPECT_CODE(Code::Denied,
              engine().networks().set_bound(with({Scope::Run}), "default", "", {.allow = std::vector<std::string>()}));
  EXPECT_TRUE(engine().networks().set_bound(caller(), "default", "", {.allow = std::vector<std::string>()}));
}

TEST_F(NetworksTest, TheServersSettingsAreABound) {
  config_.network.block = {"a.example"};
  config_.network.max_tier = NetworkTier::Standard;
  const std::string id = create(with_network()).spec.id;
  const uint64_t before = version(id);
  EXPECT_EQ(net_->policy(id)->layers[0].name, "server");
  close();
  config_.network.block = {"b.example"};
  open();
  EXPECT_GT(version(id), before) << "other settings are another version";
}

TEST_F(NetworksTest, AWrongSettingIsToldAtTheStart) {
  config_.network.allow = {"*"};
  EXPECT_CODE(Code::Invalid, try_open());
}

// --- sessions --------------------------------------------------------------------------------------------------------

class SessionNetworks : public NetworksTest {
 protected:
  SessionInfo start(SessionScope scope = SessionScope::Session) {
    SessionOrder order;
    order.scope = scope;
    order.agent = "bot";
    order.sandbox.network = standard();
    return sessions().start(caller(), order).value();
  }
  std::string sandbox_of(const SessionInfo& session) {
    Result<SandboxInfo> sandbox = sessions().sandbox_for(caller(), session);
    return sandbox ? sandbox->spec.id : message_of(sandbox);
  }
};

TEST_F(SessionNetworks, TheirSandboxHasThePolicyOfTheSession) {
  const std::string id = sandbox_of(start());
  EXPECT_EQ(net_->policy(id)->layers.back().name, "session");
  EXPECT_THAT(allowed(id), ElementsAre("a.example"));
}

TEST_F(SessionNetworks, AChangeReachesTheSandboxAndTheNextOne) {
  SessionInfo session = start();
  const std::string first = sandbox_of(session);
  ASSERT_TRUE(sessions().change_network(caller(), session.id, {.allow = {{"b.example"}}}));
  EXPECT_THAT(allowed(first), ElementsAre("b.example"));
  ASSERT_TRUE(engine().remove(caller(), first));
  session = sessions().find(caller(), session.id).value();
  EXPECT_THAT(allowed(sandbox_of(session)), ElementsAre("b.example"));
}

TEST_F(SessionNetworks, OneWithoutASandboxIsChanged) {
  SessionInfo session = start();
  session = sessions().change_network(caller(), session.id, {.allow = {{"b.example"}}}).value();
  EXPECT_THAT(allowed(sandbox_of(session)), ElementsAre("b.example"));
}

TEST_F(SessionNetworks, AChangeOfTheSandboxKeepsItTheSessions) {
  SessionInfo session = start();
  const std::string id = sandbox_of(session);
  ASSERT_TRUE(change(id, {.allow = {{"b.example"}}}));
  EXPECT_EQ(sandbox_of(sessions().find(caller(), session.id).value()), id);
}

TEST_F(SessionNetworks, ASharedSandboxIsChangedByItself) {
  SessionInfo session = start(SessionScope::Agent);
  const std::string id = sandbox_of(session);
  EXPECT_CODE(Code::Conflict, sessions().change_network(caller(), session.id, {.allow = {{"b.example"}}}));
  ASSERT_TRUE(change(id, {.allow = {{"b.example"}}}));
  EXPECT_EQ(sandbox_of(session), id) << "it still serves those who asked for what it was made with";
  EXPECT_EQ(sandbox_of(start(SessionScope::Agent)), id);
}

TEST_F(SessionNetworks, ASessionThatWasAdmittedNeedsNoScopeForItsSandbox) {
  SessionOrder order;
  order.sandbox.network = {.tier = NetworkTier::Elevated, .enabled = true};
  EXPECT_CODE(Code::Denied, sessions().start(with({Scope::Run}), order));
  SessionInfo session = sessions().start(caller(), order).value();
  EXPECT_TRUE(sessions().sandbox_for(with({Scope::Run}), session));
}

// --- execs -----------------------------------------------------------------------------------------------------------

class ExecNetworks : public NetworksTest {
 protected:
  ExecResult result_of(Exec& exec) {
    wait_for(exec);
    return exec.info().result.value_or(ExecResult());
  }
};

TEST_F(ExecNetworks, TellWhatTheyUsedAndWereDenied) {
  const std::string id = create(with_network()).spec.id;
  net_->set_counters(id, {.in_bytes = 1000, .out_bytes = 100});
  net_->tell(FakeNet::denied(id, "before.example", 443));
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep-for", "50"});
  net_->tell(FakeNet::denied(id, "b.example", 443));
  net_->tell(FakeNet::denied(id, "b.example", 443));
  net_->set_counters(id, {.in_bytes = 1500, .out_bytes = 120});
  clock_->move(milliseconds(60));
  ExecResult result = result_of(*exec);
  EXPECT_EQ(result.usage.net_in_bytes, 500u);
  EXPECT_EQ(result.usage.net_out_bytes, 20u);
  ASSERT_EQ(result.denials.size(), 1u);
  EXPECT_EQ(result.denials[0].rule, "b.example:443");
}

TEST_F(ExecNetworks, TellNoSecretThatAProgramLookedUp) {
  const std::string value = "s3cret-token-of-34-characters";
  ASSERT_TRUE(engine().secrets().set(caller(), {.name = "TOKEN"}, value));
  CreateOrder order = with_network();
  order.spec.secrets = {"TOKEN"};
  const std::string id = create(order).spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep-for", "50"});
  net_->tell(FakeNet::denied(id, value + ".example", 443));
  clock_->move(milliseconds(60));
  ExecResult result = result_of(*exec);
  ASSERT_EQ(result.denials.size(), 1u);
  const Denial& denial = result.denials[0];
  for (const std::string& text : {denial.what, denial.why, denial.host, denial.rule, denial.hint})
    EXPECT_THAT(text, testing::Not(HasSubstr(value)));
  EXPECT_THAT(denial.host, HasSubstr(".example"));
}

TEST_F(ExecNetworks, WithoutANetworkAskNobody) {
  const std::string id = create().spec.id;
  run(id, {"print", "hello"});
  const std::string cut_off = create(with_network()).spec.id;
  run(cut_off, {"print", "hello"}, [](ExecOrder& order) { order.spec.no_network = true; });
  EXPECT_EQ(net_->syncs(), 0u);
}

TEST_F(ExecNetworks, OnlyAskAtTheirEndWhileNothingHappens) {
  const std::string id = create(with_network()).spec.id;
  for (int i = 0; i < 3; ++i) run(id, {"print", "hello"});
  EXPECT_EQ(net_->syncs(), 3u);
  net_->tell(FakeNet::opened(id, "a.example", 443, "a.example"));
  run(id, {"print", "hello"});
  EXPECT_EQ(net_->syncs(), 5u);
  run(id, {"print", "hello"});
  EXPECT_EQ(net_->syncs(), 7u) << "the connection is still open";
  net_->tell(FakeNet::closed(id));
  run(id, {"print", "hello"});
  run(id, {"print", "hello"});
  EXPECT_EQ(net_->syncs(), 10u);
}

TEST_F(ExecNetworks, OfAnEarlierServerAreToldWhatTheyUsedSince) {
  const std::string id = create(with_network()).spec.id;
  const std::string exec = start_exec(id, {"sleep-for", "50"})->info().id;
  crash();
  open();
  std::shared_ptr<Exec> taken_up = engine().find_exec(caller(), id, exec, Scope::Read).value();
  net_->set_counters(id, {.in_bytes = 70});
  net_->tell(FakeNet::denied(id, "b.example", 443));
  clock_->move(milliseconds(60));
  ExecResult result = result_of(*taken_up);
  EXPECT_EQ(result.usage.net_in_bytes, 70u);
  EXPECT_EQ(result.denials.size(), 1u);
}

// --- the pool --------------------------------------------------------------------------------------------------------

class PooledNetworks : public NetworksTest {
 protected:
  PooledNetworks() {
    config_.pool.size = 4;
    config_.pool.languages.clear();
  }
};

TEST_F(PooledNetworks, HaveSocketsBeforeTheyAreHandedOutAndNoPolicy) {
  open();
  create(with_network());
  clock_->move(seconds(2));
  std::string ready;
  ASSERT_TRUE(becomes([&] {
    for (const std::string& id : machine_.running())
      if (net_->attached(id) && !net_->policy(id)) ready = id;
    return !ready.empty();
  }));
  ASSERT_TRUE(becomes([&] { return engine().counts().pool.ready >= 5; }));
  const uint64_t taken = engine().counts().pool.taken;
  const std::string id = create(with_network(standard({"other.example"}))).spec.id;
  EXPECT_EQ(engine().counts().pool.taken, taken + 1);
  EXPECT_EQ(machine_.networks_opened(id), 1u);
  EXPECT_THAT(allowed(id), ElementsAre("other.example"));
}

TEST_F(PooledNetworks, LeaveNothingAtTheGateway) {
  open();
  const std::string mine = create(with_network()).spec.id;
  clock_->move(seconds(2));
  std::vector<std::string> ids;
  ASSERT_TRUE(becomes([&] {
    ids = machine_.running();
    return std::ranges::count_if(ids, [&](const std::string& id) { return net_->attached(id); }) > 1;
  }));
  room_.memory_available = 1;
  // What was being made meanwhile goes the next time that the pool looks.
  ASSERT_TRUE(becomes([&] {
    clock_->move(seconds(2));
    return engine().counts().pool.ready == 0;
  }));
  EXPECT_TRUE(becomes([&] {
    return std::ranges::all_of(ids, [&](const std::string& id) { return net_->attached(id) == (id == mine); });
  }));
}

TEST(NetworkClass, IsWhetherThereIsOne) {
  SandboxSpec none, some, other;
  some.network = standard();
  other.network = {.tier = NetworkTier::Elevated, .enabled = true};
  EXPECT_NE(WarmPool::class_of(none), WarmPool::class_of(some));
  EXPECT_EQ(WarmPool::class_of(some), WarmPool::class_of(other));
  EXPECT_NE(WarmPool::class_of(some), "");
}

}  // namespace
}  // namespace cove::engine
