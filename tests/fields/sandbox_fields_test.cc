// The tables of sandboxes, execs and sessions, and that nothing which goes by them forgets a field: every field of a
// value is set to one of its own through the table, taken through each way that it travels, and compared through it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/rest/execute_request.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/session_request.h"
#include "cli/sandbox_body.h"
#include "cli/session_order.h"
#include "engine/pool/warm_pool.h"
#include "engine/record_codec.h"
#include "fields/apart.h"
#include "fields/members.h"
#include "spawn/protocol.h"

namespace cove {
namespace {

using testing::HasSubstr;

template <Listed T>
void expect_all_listed(const char* type) {
  EXPECT_EQ(rows_of<T>(), members_of<T>()) << type;
  each_changed<T>([](const Field& field, const T& changed) {
    EXPECT_FALSE(field.name.empty());
    const T usual;
    FieldsOf<T>::visit(
        [&](const Field& other, const auto& member, const auto& ordinary) {
          if (other.name == field.name) {
            EXPECT_FALSE(same(member, ordinary, ~0u));
          }
        },
        changed, usual);
  });
}

TEST(Fields, HaveARowForEachMember) {
  expect_all_listed<NetworkBudget>("NetworkBudget");
  expect_all_listed<NetworkPolicy>("NetworkPolicy");
  expect_all_listed<GitAuthor>("GitAuthor");
  expect_all_listed<Workspace>("Workspace");
  expect_all_listed<ImageDefaults>("ImageDefaults");
  expect_all_listed<SandboxSpec>("SandboxSpec");
  expect_all_listed<WindowSize>("WindowSize");
  expect_all_listed<LanguageUse>("LanguageUse");
  expect_all_listed<ExecSpec>("ExecSpec");
  expect_all_listed<engine::ExecOrder>("ExecOrder");
  expect_all_listed<engine::SessionOrder>("SessionOrder");
  expect_all_listed<engine::Lifecycle>("Lifecycle");
}

TEST(Fields, AreInTheRecordOfASandbox) {
  engine::SandboxInfo info;
  info.spec = apart<SandboxSpec>();
  info.lifecycle = apart<engine::Lifecycle>();
  const engine::SandboxInfo read = engine::info_of(engine::record_of(info)).value();
  expect_same(read.spec, info.spec, kRecord);
  expect_same(read.lifecycle, info.lifecycle, kRecord);
  EXPECT_EQ(read.spec.id, info.spec.id);
  EXPECT_EQ(read.spec.name, info.spec.name);
}

TEST(Fields, AreInTheRecordOfAnExec) {
  engine::ExecInfo info;
  info.order = apart<engine::ExecOrder>();
  const engine::ExecInfo read = engine::info_of(engine::record_of(info)).value();
  expect_same(read.order, info.order, kRecord);
  expect_same(read.order.spec, info.order.spec, kRecord);
  EXPECT_EQ(read.order.tag, info.order.tag);
  EXPECT_EQ(read.order.session, info.order.session);
}

TEST(Fields, AreInTheRecordOfASession) {
  engine::SessionInfo info;
  info.order = apart<engine::SessionOrder>();
  const engine::SessionInfo read = engine::info_of(engine::record_of(info)).value();
  expect_same(read.order, info.order, kRecord);
  expect_same(read.order.sandbox, info.order.sandbox, kRecord);
  expect_same(read.order, info.order, kAnswer);
  EXPECT_EQ(read.order.idle, info.order.idle);
}

TEST(Fields, OfAnOldRecordHaveTheirDefaults) {
  engine::SandboxInfo info;
  SandboxRecord record = engine::record_of(info);
  record.spec = "{}";
  expect_same(engine::info_of(record).value().spec, info.spec, kRecord);
}

TEST(Fields, GoToTheProcessThatBuildsSandboxes) {
  const SandboxSpec spec = apart<SandboxSpec>();
  spawn::Writer out;
  spawn::encode(out, spec);
  spawn::Reader in(out.data());
  const SandboxSpec read = spawn::decode_spec(in).value();
  expect_same(read, spec, kChannel);
  EXPECT_TRUE(read.env.empty());  // has secrets in it
}

TEST(Fields, DecideAboutThePool) {
  const std::string usual = engine::WarmPool::class_of(SandboxSpec());
  EXPECT_NE(usual, "");
  each_changed<SandboxSpec>([&](const Field& field, const SandboxSpec& changed) {
    const std::string other = engine::WarmPool::class_of(changed);
    if (field.pool == Pool::Any) {
      EXPECT_EQ(other, usual);
    }
    if (field.pool == Pool::Class) {
      EXPECT_NE(other, usual);
    }
    EXPECT_EQ(other.empty(), field.pool == Pool::Usual);
  });
}

TEST(Fields, OfANetworkDecideAboutThePoolByWhetherThereIsOne) {
  std::set<std::string> classes = {engine::WarmPool::class_of(SandboxSpec())};
  each_changed<NetworkPolicy>([&](const Field&, const NetworkPolicy& changed) {
    for (NetworkTier tier : {NetworkTier::Standard, NetworkTier::Elevated}) {
      SandboxSpec spec;
      spec.network = changed;
      spec.network.tier = tier;
      spec.network.enabled = true;
      classes.insert(engine::WarmPool::class_of(spec));
    }
  });
  EXPECT_EQ(classes.size(), 2u);
}

TEST(Fields, AreInTheAnswerAsInTheRequest) {
  engine::SandboxInfo info;
  info.spec = apart<SandboxSpec>();
  const Json answer = api::sandbox_json(info);
  Json body = Json::object();
  each_changed<SandboxSpec>([&](const Field& field, const SandboxSpec&) {
    EXPECT_EQ(answer.contains(field.name), field.in(kAnswer));
    if (field.in(kRequest) && field.in(kAnswer)) body[field.name] = answer[field.name];
  });
  body["limits"] = cli::limits_body(info.spec.limits);  // have other names where they are shown
  body["strict"] = true;                                // is asked for and not shown
  expect_same(api::parse_create(body, Config()).value().spec, info.spec, kRequest);
}

TEST(Fields, CanBeChangedWhereTheySaySo) {
  const Json whole = cli::sandbox_body(apart<SandboxSpec>());
  each_changed<SandboxSpec>([&](const Field& field, const SandboxSpec&) {
    if (!field.in(kRequest)) return;
    Json body = Json::object();
    body[field.name] = whole[field.name];
    EXPECT_EQ(api::parse_update(body, engine::SandboxInfo()).has_value(), field.in(kPatch));
  });
}

TEST(NetworkPolicy, ArrivesWithEveryCallThatMakesASandbox) {
  const NetworkPolicy network = apart<NetworkPolicy>();
  Json body = {{"shell", "true"}, {"network", cli::network_body(network)}};
  EXPECT_EQ(api::parse_execute(body, Config(), api::RunForm::Result).value().place.sandbox.network, network);
  Json session = Json::object();
  SandboxSpec spec;
  spec.network = network;
  cli::add_place(session, {}, spec);
  EXPECT_EQ(api::parse_session(session, Config()).value().sandbox.network, network);
}

TEST(NetworkPolicy, HasTheUsualTierWhereOnlyAListIsNamed) {
  EXPECT_EQ(changed({}, {.allow = {{"pypi.org"}}}),
            (NetworkPolicy{.tier = NetworkTier::Standard, .enabled = true, .allow = {"pypi.org"}}));
  EXPECT_TRUE(has_network(changed({}, {.enabled = true})));
  EXPECT_TRUE(has_network(changed({}, {.tier = NetworkTier::Elevated})));
  EXPECT_FALSE(has_network(changed({}, {.tier = NetworkTier::Restricted})));
  EXPECT_FALSE(has_network(changed({}, {.enabled = false, .allow = {{"pypi.org"}}})));
  EXPECT_FALSE(has_network(changed({}, {.allow = std::vector<std::string>()})));
}

TEST(NetworkPolicy, KeepsWhatIsNotNamedInAChange) {
  const NetworkPolicy before{.tier = NetworkTier::Standard, .enabled = false, .allow = {"a.org"}, .block = {"b.org"}};
  EXPECT_EQ(changed(before, {}), before);
  EXPECT_FALSE(changed(before, {.tier = NetworkTier::Elevated}).enabled) << "it was cut, and stays so";
  EXPECT_EQ(changed(before, {.block = std::vector<std::string>()}).allow, before.allow);
}

TEST(NetworkPolicy, HasBounds) {
  for (const std::vector<std::string>& rules :
       {std::vector<std::string>(kMostNetworkRules + 1, "a"), std::vector<std::string>{""},
        std::vector<std::string>{std::string(kLongestNetworkRule + 1, 'a')}})
    EXPECT_EQ(check_network({.block = rules}).error().code(), Code::Invalid);
  EXPECT_TRUE(
      check_network({.block = std::vector<std::string>(kMostNetworkRules, std::string(kLongestNetworkRule, 'a'))}));
}

TEST(NetworkPolicy, IsComparedForWhoeverSharesASandbox) {
  SandboxSpec wanted, there;
  there.network.tier = NetworkTier::Restricted;
  EXPECT_THAT(engine::difference(wanted, there), HasSubstr("the network policy restricted, and not sandbox"));
  wanted.network.tier = NetworkTier::Restricted;
  EXPECT_EQ(engine::difference(wanted, there), "");
}

}  // namespace
}  // namespace cove
