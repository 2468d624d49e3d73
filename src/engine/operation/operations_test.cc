#include "engine/operation/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "sys/file.h"
#include "sys/testing.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OperationsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-operations-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    open();
  }
  void TearDown() override {
    close();
    EXPECT_TRUE(sys::remove_tree(folder_));
  }
  void open() {
    store_ = std::move(*Store::open(folder_));
    operations_ = std::make_unique<Operations>(*store_);
    ASSERT_OK(operations_->interrupt_lost());
  }
  void close() {
    operations_.reset();
    store_.reset();
  }
  static OperationTask task(std::function<Result<std::string>()> work) {
    return {.kind = "pull",
            .target = "image:1",
            .project = "default",
            .work = std::move(work),
            .progress = {},
            .cancel = {}};
  }
  OperationInfo at_end(const std::string& id) {
    while (true) {
      OperationInfo info =
          operations_->wait("default", id, operations_->find("default", id)->version, seconds(1)).value();
      if (info.state != OperationState::Running) return info;
    }
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Operations> operations_;
};

TEST_F(OperationsTest, KeepTheirOutcomeOverARestart) {
  std::string id = operations_->start(task([] { return Result<std::string>(R"({"ok":true})"); }))->id;
  EXPECT_EQ(at_end(id).result, R"({"ok":true})");
  std::string failed = operations_
                           ->start(task([]() -> Result<std::string> {
                             return fail(Error(Code::NotFound, "there is no image").hint("look for another"));
                           }))
                           ->id;
  at_end(failed);
  close();
  open();
  OperationInfo info = operations_->find("default", id).value();
  EXPECT_EQ(info.state, OperationState::Succeeded);
  EXPECT_EQ(info.result, R"({"ok":true})");
  EXPECT_GT(info.ended_ms, 0);
  info = operations_->find("default", failed).value();
  EXPECT_EQ(info.state, OperationState::Failed);
  EXPECT_EQ(info.error->code, "not_found");
  EXPECT_EQ(info.error->message, "there is no image");
  EXPECT_EQ(info.error->hint, "look for another");
  EXPECT_FALSE(operations_->find("other", id));
}

TEST_F(OperationsTest, RunOnTheCallersThreadWhereHeWaits) {
  const std::thread::id own = std::this_thread::get_id();
  EXPECT_EQ(operations_
                ->run(task([&]() -> Result<std::string> {
                  EXPECT_EQ(std::this_thread::get_id(), own);
                  return "{}";
                }))
                .value(),
            "{}");
  EXPECT_EQ(operations_->list("default", {}, "", 10)->items.front().state, OperationState::Succeeded);
}

TEST_F(OperationsTest, ShowHowFarTheyAre) {
  std::promise<void> go_on;
  std::atomic<uint64_t> done = 0;
  OperationTask slow = task([&]() -> Result<std::string> {
    done = 5;
    go_on.get_future().wait();
    return "{}";
  });
  slow.progress = [&] { return OperationProgress{done, 10, "working", ""}; };
  std::string id = operations_->start(std::move(slow))->id;
  OperationInfo info = operations_->find("default", id).value();
  while (info.progress.done_bytes < 5) info = operations_->wait("default", id, info.version, seconds(1)).value();
  EXPECT_EQ(info.progress.message, "working");
  EXPECT_GT(info.version, 1u);
  // In the end at the latest, but also before.
  while (store_->find_operation("default", id)->version < info.version) std::this_thread::yield();
  EXPECT_THAT(store_->find_operation("default", id)->progress, testing::HasSubstr("\"done_bytes\":5"));
  go_on.set_value();
  EXPECT_EQ(at_end(id).state, OperationState::Succeeded);
}

TEST_F(OperationsTest, AreCancelledWhereTheyCanBe) {
  std::promise<void> cancelled;
  OperationTask slow = task([&]() -> Result<std::string> {
    cancelled.get_future().wait();
    return fail(Code::Unavailable, "it was cancelled");
  });
  slow.cancel = [&] { cancelled.set_value(); };
  std::string id = operations_->start(std::move(slow))->id;
  EXPECT_FALSE(operations_->cancel("other", id));
  ASSERT_OK(operations_->cancel("default", id));
  EXPECT_EQ(at_end(id).state, OperationState::Cancelled);
  EXPECT_EQ(operations_->cancel("default", id).error().code(), Code::Conflict);
  EXPECT_EQ(operations_->cancel("default", "none").error().code(), Code::NotFound);
  std::promise<void> go_on;
  id = operations_
           ->start(task([&]() -> Result<std::string> {
             go_on.get_future().wait();
             return "{}";
           }))
           ->id;
  EXPECT_EQ(operations_->cancel("default", id).error().code(), Code::Conflict);
  go_on.set_value();
  EXPECT_EQ(at_end(id).state, OperationState::Succeeded);
}

TEST_F(OperationsTest, ThatRanWhenTheServerDiedAreInterrupted) {
  OperationRecord left;
  left.id = "left";
  left.kind = "pull";
  left.created_ms = 1;
  ASSERT_OK(store_->insert_operation(left));
  close();
  open();
  OperationInfo info = operations_->find("default", "left").value();
  EXPECT_EQ(info.state, OperationState::Failed);
  EXPECT_EQ(info.error->code, kInterrupted);
  EXPECT_THAT(info.error->hint, testing::HasSubstr("repeat"));
  operations_->prune(INT64_MAX);
  EXPECT_FALSE(operations_->find("default", "left"));
}

TEST_F(OperationsTest, ThatRunWhenTheServerStopsAreCalledOffAndInterrupted) {
  std::promise<void> cancelled;
  OperationTask slow = task([&]() -> Result<std::string> {
    cancelled.get_future().wait();
    return fail(Code::Unavailable, "it was cancelled");
  });
  slow.cancel = [&] { cancelled.set_value(); };
  std::string id = operations_->start(std::move(slow))->id;
  operations_->stop();
  EXPECT_FALSE(operations_->start(task([] { return Result<std::string>("{}"); })));
  close();
  open();
  EXPECT_EQ(operations_->find("default", id)->error->code, kInterrupted);
}

TEST_F(OperationsTest, AreListedByStateAndKind) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(operations_->start(task([] { return Result<std::string>("{}"); }))->id);
  for (const std::string& id : ids) at_end(id);
  Page<OperationInfo> page = operations_->list("default", {}, "", 2).value();
  EXPECT_EQ(page.items.size(), 2u);
  EXPECT_EQ(operations_->list("default", {}, page.next, 2)->items.size(), 1u);
  EXPECT_EQ(operations_->list("default", {.state = OperationState::Failed, .kind = {}}, "", 2)->items.size(), 0u);
  EXPECT_EQ(operations_->list("default", {.state = {}, .kind = "load"}, "", 2)->items.size(), 0u);
}

TEST_F(OperationsTest, ThereIsABoundOnHowManyRun) {
  std::promise<void> go_on;
  std::shared_future<void> gone_on = go_on.get_future().share();
  auto wait = [gone_on]() -> Result<std::string> {
    gone_on.wait();
    return "{}";
  };
  for (size_t i = 0; i < Operations::kMostAtOnce; ++i) ASSERT_OK(operations_->start(task(wait)));
  EXPECT_EQ(operations_->start(task(wait)).error().code(), Code::Exhausted);
  go_on.set_value();
}

}  // namespace
}  // namespace cove::engine
