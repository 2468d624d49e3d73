// The table of limits, and that nothing which goes by it forgets one: every limit of a value is set to one of its own
// through the table, taken through each way that limits travel, and compared through the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/rest/exec_request.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/session_request.h"
#include "base/text.h"
#include "cli/run_order.h"
#include "cli/sandbox_body.h"
#include "config/config.h"
#include "engine/pool/warm_pool.h"
#include "engine/quota/admission.h"
#include "engine/record_codec.h"
#include "fields/apart.h"
#include "fields/members.h"
#include "model/limit_fields.h"
#include "spawn/protocol.h"
#include "sys/file.h"

namespace cove {
namespace {

using testing::HasSubstr;

// Calls `look` with values of which each differs from the usual in one limit alone.
template <typename Look>
void each_changed(Look look) {
  for (const LimitField& field : kLimitFields) {
    SCOPED_TRACE(field.name);
    Limits changed;
    visit_limit(
        field,
        [](const LimitField& row, auto& limit) {
          set_apart(row, limit.value);
          limit.named = true;
        },
        changed);
    look(field, changed);
  }
}

// --- the table ---------------------------------------------------------------------------------------------------
TEST(LimitFields, HaveARowForEachMember) {
  EXPECT_EQ(members_of<Limits>(), std::size(kLimitFields));
  const Limits usual, apart = limits_apart();
  visit_limits(
      [&](const LimitField& field, const auto& limit, const auto& other) {
        EXPECT_FALSE(limit.value == other.value) << field.name;
        EXPECT_EQ((field.number != nullptr) + (field.count != nullptr) + (field.time != nullptr), 1) << field.name;
        EXPECT_EQ(field.kind == LimitKind::Number, field.number != nullptr) << field.name;
        EXPECT_EQ(field.kind == LimitKind::Duration, field.time != nullptr) << field.name;
        EXPECT_FALSE(field.setting.empty()) << field.name;
        EXPECT_EQ(find_limit_field(field.name), &field);
      },
      usual, apart);
}

TEST(LimitFields, DefaultsFillWhatIsNotNamed) {
  const Limits defaults = limits_apart();
  Limits limits;
  take_defaults(limits, defaults);
  visit_limits([](const LimitField&, auto& limit) { limit.named = true; }, limits);
  expect_same(limits, defaults);
  each_changed([&](const LimitField& field, const Limits& changed) {
    Limits kept = changed;
    take_defaults(kept, Limits());
    expect_same(kept, changed);
    Limits taken;
    take_named(taken, changed);
    expect_same(taken, changed);
    visit_limit(field, [](const LimitField&, const auto& limit) { EXPECT_TRUE(limit.named); }, taken);
  });
}

// --- ways to travel ----------------------------------------------------------------------------------------------
TEST(LimitFields, AreInTheRecordOfASandbox) {
  engine::SandboxInfo info;
  info.spec.limits = limits_apart();
  expect_same(engine::info_of(engine::record_of(info)).value().spec.limits, limits_apart());
}

TEST(LimitFields, AreInTheRecordOfAnExec) {
  engine::ExecInfo info;
  info.order.limits = limits_apart();
  expect_same(engine::info_of(engine::record_of(info)).value().order.limits, limits_apart());
}

TEST(LimitFields, AreInTheRecordOfASession) {
  engine::SessionInfo info;
  info.order.sandbox.limits = limits_apart();
  expect_same(engine::info_of(engine::record_of(info)).value().order.sandbox.limits, limits_apart());
}

TEST(LimitFields, GoToTheProcessThatHoldsThem) {
  spawn::Writer out;
  spawn::encode(out, limits_apart());
  spawn::Reader in(out.data());
  expect_same(spawn::decode_limits(in), limits_apart(), is_of_sandbox);
  EXPECT_TRUE(in.done());
}

TEST(LimitFields, MakeClassesOfThePool) {
  const std::string usual = engine::WarmPool::class_of(SandboxSpec());
  each_changed([&](const LimitField& field, const Limits& changed) {
    SandboxSpec spec;
    spec.limits = changed;
    EXPECT_EQ(engine::WarmPool::class_of(spec) != usual, is_of_sandbox(field));
    // What is named is refused where it cannot be enforced, and a default is not.
    spec.limits = Limits();
    visit_limit(field, [](const LimitField&, auto& limit) { limit.named = true; }, spec.limits);
    EXPECT_EQ(engine::WarmPool::class_of(spec) != usual, is_of_sandbox(field));
  });
}

TEST(LimitFields, ArriveFromTheCommandLine) {
  const Json body = {{"limits", cli::limits_body(limits_apart())}};
  expect_same(api::parse_create(body, Config()).value().spec.limits, limits_apart());
  expect_same(api::parse_session(body, Config()).value().sandbox.limits, limits_apart());
  engine::SandboxInfo now;
  expect_same(*api::parse_update(body, now).value().limits, limits_apart());
}

TEST(LimitFields, OfAnExecArriveAndOthersAreRefused) {
  each_changed([](const LimitField& field, const Limits& changed) {
    const Json body = {{"argv", {"true"}}, {"limits", cli::limits_body(changed)}};
    auto request = api::parse_exec(body, builtin_languages(), api::SilentInput::Closed);
    ASSERT_EQ(request.has_value(), field.of == LimitOf::Exec);
    if (!request) {
      EXPECT_THAT(request.error().message(), HasSubstr(api_name(field)));
      return;
    }
    EXPECT_EQ(cli::exec_limits_body(changed), cli::limits_body(changed));
    const Limits in_force = engine::limits_in_force(Limits(), request->order);
    visit_limit(
        field, [](const LimitField&, const auto& limit, const auto& want) { EXPECT_TRUE(limit.value == want.value); },
        in_force, changed);
  });
}

TEST(LimitFields, AreInTheAnswerAsInTheRequest) {
  engine::SandboxInfo info;
  info.spec.limits = limits_apart();
  const Json answer = api::sandbox_json(info);
  EXPECT_EQ(answer["limits"].size(), std::size(kLimitFields));
  Json asked = Json::object();
  for (const LimitField& field : kLimitFields) asked[api_name(field)] = answer["limits"][api::answer_name(field)];
  expect_same(api::parse_create({{"limits", asked}}, Config()).value().spec.limits, limits_apart());
}

// The schema of that name in the contract.
std::string schema(const std::string& name) {
  const std::string text = sys::read_file(COVE_TEST_FOLDER "/../api/openapi.yaml").value();
  const size_t begin = text.find(concat("\n    ", name, ":\n"));
  size_t end = text.find("\n    ", begin + 1);
  while (end != text.npos && text[end + 5] == ' ') end = text.find("\n    ", end + 1);
  return begin == text.npos ? "" : text.substr(begin, end - begin);
}

TEST(LimitFields, AreInTheContract) {
  for (const LimitField& field : kLimitFields) {
    EXPECT_THAT(schema("LimitsRequest"), HasSubstr(concat("\n        ", api_name(field), ": ")));
    EXPECT_THAT(schema("Limits"), HasSubstr(concat("\n        ", api::answer_name(field), ": ")));
  }
}

// As a setting or an option takes it.
std::string written(const LimitField& field, const Limits& limits) {
  std::string text;
  auto write = [&](const LimitField&, const auto& limit) {
    text = field.time ? limit_text(field, limit.value) : concat(to_number(limit.value));
    std::erase(text, ' ');
  };
  visit_limit(field, write, limits);
  return text;
}

TEST(LimitFields, AreSettings) {
  each_changed([](const LimitField& field, const Limits& changed) {
    ConfigSources sources;
    sources.env = [](const std::string&) { return std::nullopt; };
    sources.flags = {{concat("limits.", field.name), written(field, changed)}};
    Limits set = load_config(sources).value().limits;
    visit_limit(
        field,
        [](const LimitField&, auto& limit) {
          EXPECT_FALSE(limit.named);
          limit.named = true;
        },
        set);
    expect_same(set, changed);
  });
}

TEST(LimitFields, AreOptionsWhereTheySaySo) {
  each_changed([](const LimitField& field, const Limits& changed) {
    if (field.option.empty()) return;
    cli::RunOrder order;
    auto option = std::ranges::find(cli::run_options(), field.option, &cli::OptionInfo::name);
    ASSERT_NE(option, cli::run_options().end());
    const std::string before(field.argument.substr(0, field.argument.find('=') + 1));
    ASSERT_TRUE(option->set(order, concat(before, written(field, changed))));
    expect_same(order.request.sandbox.limits, changed);
  });
}

TEST(LimitFields, AreComparedForWhoeverSharesASandbox) {
  each_changed([](const LimitField& field, const Limits& changed) {
    SandboxSpec wanted, there;
    wanted.limits = changed;
    EXPECT_EQ(engine::names_limit(changed), is_of_sandbox(field));
    const std::string words = engine::difference(wanted, there);
    if (is_of_sandbox(field))
      EXPECT_THAT(words, HasSubstr(std::string(field.name)));
    else
      EXPECT_EQ(words, "");
    there.limits = changed;
    EXPECT_EQ(engine::difference(wanted, there), "");
  });
}

TEST(LimitFields, HaveAMaximumWhereTheySaySo) {
  const Caller remote;
  each_changed([&](const LimitField& field, const Limits& changed) {
    Limits most = changed;
    visit_limit(field, [](const LimitField&, auto& limit) { limit.value = limit.value / 2; }, most);
    EXPECT_FALSE(engine::check_limits(remote, Maxima{most}, changed).has_value());
    EXPECT_TRUE(engine::check_limits(remote, Maxima(), changed).has_value());
  });
}

}  // namespace
}  // namespace cove
