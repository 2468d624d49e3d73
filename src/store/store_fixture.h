#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"
#include "sys/file.h"
#include "sys/testing.h"

namespace cove {

#define EXPECT_CODE(expected, ...)                                            \
  do {                                                                        \
    auto&& outcome = (__VA_ARGS__);                                           \
    ASSERT_FALSE(outcome);                                                    \
    EXPECT_EQ(outcome.error().code(), expected) << outcome.error().message(); \
  } while (false)

class Stores : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-store-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    reopen();
  }
  void TearDown() override {
    store_.reset();
    EXPECT_TRUE(sys::remove_tree(folder_));
  }
  void reopen() {
    store_.reset();
    Result<std::unique_ptr<Store>> opened = Store::open(folder_);
    ASSERT_OK(opened);
    store_ = std::move(*opened);
  }
  std::string file() const { return folder_ + "/cove.db"; }

  static SandboxRecord sandbox(const std::string& id, const std::string& name = "", int64_t created_ms = 1000) {
    SandboxRecord record;
    record.id = id;
    record.name = name;
    record.state = "running";
    record.reason = "because";
    record.spec = R"({"labels":{"a":"b"}})";
    record.created_ms = created_ms;
    record.started_ms = 2;
    record.last_used_ms = 3;
    record.expires_ms = 4;
    record.updated_ms = 5;
    return record;
  }
  static ExecRecord exec(const std::string& id, const std::string& sandbox_id, int64_t started_ms = 1000) {
    ExecRecord record;
    record.id = id;
    record.sandbox_id = sandbox_id;
    record.tag = "tag";
    record.spec = R"({"argv":["true"]})";
    record.started_ms = started_ms;
    record.position = UINT64_MAX / 2;
    return record;
  }
  static SessionRecord session(const std::string& id, const std::string& agent = "", int64_t created_ms = 1000) {
    SessionRecord record;
    record.id = id;
    record.agent = agent;
    record.scope = agent.empty() ? "session" : "agent";
    record.spec = R"({"mode":"all"})";
    record.idle_ms = 500;
    record.created_ms = record.last_used_ms = created_ms;
    return record;
  }
  static EventDraft event(const std::string& kind, const std::string& project = "default") {
    EventDraft draft;
    draft.kind = kind;
    draft.project = project;
    draft.actor = "uid:0";
    return draft;
  }
  std::vector<std::string> kinds_after(uint64_t seq, const std::string& project = "", size_t limit = 1000) {
    std::vector<std::string> kinds;
    Result<std::vector<EventRecord>> events = store_->events_after(seq, project, limit);
    EXPECT_TRUE(events);
    if (events)
      for (const EventRecord& each : *events) kinds.push_back(each.kind);
    return kinds;
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

inline std::vector<std::string> ids(const auto& records) {
  std::vector<std::string> names;
  for (const auto& record : records) names.push_back(record.id);
  return names;
}

}  // namespace cove
