#include "engine/service/execute_order.h"

#include <gtest/gtest.h>

namespace cove::engine {
namespace {

Caller local_caller() {
  Caller caller;
  caller.local = true;
  return caller;
}

SessionInfo session_in(Mode mode) {
  SessionInfo session;
  session.id = "s";
  session.order.mode = mode;
  session.order.sandbox.workspace = {.path = "/w", .access = Access::ReadWrite};
  session.order.sandbox.runtime = Config().runtime;
  return session;
}

// A plain command, whose files are not wanted.
ExecuteOrder plain() {
  ExecuteOrder order;
  order.order.spec.argv = {"cat", "note"};
  order.order.spec.input = false;
  order.place.sandbox.runtime = Config().runtime;
  order.outputs.emplace();
  return order;
}

Where where(const ExecuteOrder& order, const SessionInfo* session = nullptr) {
  Config config;
  config.modes.allow_off = true;
  return place(circumstances_of(order, session, local_caller(), config)).value().where;
}

TEST(CircumstancesOfAnExecution, ModeAllUnlessAnotherIsNamed) {
  EXPECT_EQ(where(plain()), Where::Sandbox);
  ExecuteOrder off = plain();
  off.mode = Mode::Off;
  EXPECT_EQ(where(off), Where::Host);
}

TEST(CircumstancesOfAnExecution, ACallCanOnlyBeStricterThanItsSession) {
  const SessionInfo selective = session_in(Mode::Selective);
  ExecuteOrder order = plain();
  EXPECT_EQ(where(order, &selective), Where::HostIfHarmless);
  order.mode = Mode::Off;
  EXPECT_EQ(where(order, &selective), Where::HostIfHarmless);
  order.mode = Mode::All;
  EXPECT_EQ(where(order, &selective), Where::Sandbox);
}

TEST(CircumstancesOfAnExecution, WhatNeedsASandboxIsSeen) {
  const SessionInfo session = session_in(Mode::Selective);
  const std::vector<void (*)(ExecuteOrder&)> kChanges = {
      [](ExecuteOrder& order) { order.order.language = "python"; },
      [](ExecuteOrder& order) { order.order.spec.env = {{"A", "1"}}; },
      [](ExecuteOrder& order) { order.order.spec.input = true; },
      [](ExecuteOrder& order) { order.order.spec.pty.emplace(); },
      [](ExecuteOrder& order) { order.order.spec.user = "root"; },
      [](ExecuteOrder& order) { order.command.emplace(); },
      [](ExecuteOrder& order) { order.files.push_back({"a", ""}); },
      [](ExecuteOrder& order) { order.outputs->push_back("*"); }};
  for (auto change : kChanges) {
    ExecuteOrder order = plain();
    change(order);
    EXPECT_EQ(where(order, &session), Where::Sandbox);
  }
  SessionInfo review = session;
  review.order.sandbox.workspace.access = Access::Review;
  EXPECT_EQ(where(plain(), &review), Where::Sandbox);
  SessionInfo variables = session;
  variables.order.sandbox.env = {{"A", "1"}};
  EXPECT_EQ(where(plain(), &variables), Where::Sandbox);
}

TEST(CircumstancesOfAnExec, OnlyWhatIsWaitedForRunsOnTheHost) {
  const SessionInfo session = session_in(Mode::Selective);
  const ExecOrder order = plain().order;
  auto placed = [&](WaitedFor waited_for) {
    return place(circumstances_of(order, session, waited_for, local_caller(), Config())).value().where;
  };
  EXPECT_EQ(placed(WaitedFor::Yes), Where::HostIfHarmless);
  EXPECT_EQ(placed(WaitedFor::No), Where::Sandbox);
}

}  // namespace
}  // namespace cove::engine
