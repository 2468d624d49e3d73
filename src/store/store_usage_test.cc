#include "store/store_fixture.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class Usages : public Stores {
 protected:
  void end(const std::string& project, const std::string& sandbox_id, const std::string& in_session, int64_t time,
           uint64_t figure, const std::string& context = "") {
    if (!store_->find_sandbox("", sandbox_id)) {
      SandboxRecord record = sandbox(sandbox_id);
      record.project = project;
      ASSERT_OK(store_->insert_sandbox(record, {}, {}));
    }
    ExecRecord record = exec("x" + std::to_string(++made_), sandbox_id);
    ASSERT_OK(store_->insert_exec(record, {}));
    record.state = kExecEnded;
    UsageRecord usage;
    usage.project = project;
    usage.sandbox_id = sandbox_id;
    usage.session = in_session;
    usage.exec_id = record.id;
    usage.context_id = context;
    usage.status = "success";
    usage.ended_ms = time;
    for (const UsageField& field : kUsageFields) usage.figures.*field.figure = figure;
    ASSERT_OK(store_->end_exec(record, usage, {}));
  }
  int made_ = 0;
};

TEST_F(Usages, AreAddedUpByProjectTimeSandboxAndSession) {
  ASSERT_OK(store_->insert_project({"p", "{}", 1}, {}));
  SessionRecord of_agent = session("s1", "coder");
  of_agent.project = "p";
  ASSERT_OK(store_->insert_session(of_agent, {}));
  end("p", "a", "s1", 100, 1);
  end("p", "a", "s2", 200, 2);
  end("p", "b", "", 300, 4);
  end("default", "c", "s1", 400, 8);
  auto total = [&](const UsageFilter& filter) {
    UsageTotal found = store_->total_usage(filter).value();
    return std::vector<uint64_t>{found.execs, found.figures.cpu_user_ms, found.figures.memory_peak_bytes,
                                 found.figures.output_bytes};
  };
  EXPECT_THAT(total({.project = "p"}), ElementsAre(3, 7, 4, 7));
  EXPECT_THAT(total({.project = "p", .since_ms = 200}), ElementsAre(2, 6, 4, 6));
  EXPECT_THAT(total({.project = "p", .since_ms = 100, .until_ms = 200}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "p", .sandbox_id = "a"}), ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(total({.project = "p", .sandbox_id = "c"}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(total({.project = "p", .session = "s1"}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "p", .agent = "coder"}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "none"}), ElementsAre(0, 0, 0, 0));

  std::vector<UsageTotal> by_sandbox = store_->usage_by(Store::UsageBy::Sandbox, {.project = "p"}, "", 10).value();
  ASSERT_THAT(by_sandbox, SizeIs(2));
  EXPECT_EQ(by_sandbox[0].of, "a");
  EXPECT_EQ(by_sandbox[0].execs, 2u);
  EXPECT_EQ(by_sandbox[1].figures.duration_ms, 4u);
  EXPECT_EQ(store_->usage_by(Store::UsageBy::Sandbox, {.project = "p"}, "a", 10)->front().of, "b");
  std::vector<UsageTotal> by_session = store_->usage_by(Store::UsageBy::Session, {.project = "p"}, "", 10).value();
  ASSERT_THAT(by_session, SizeIs(2));
  EXPECT_EQ(by_session[1].of, "s2");

  // They stay when the sandbox is gone, until their time is over.
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_THAT(total({.project = "p"}), ElementsAre(3, 7, 4, 7));
  EXPECT_EQ(store_->prune_usage(200).value(), 1u);
  EXPECT_THAT(total({.project = "p"}), ElementsAre(2, 6, 4, 6));
}

TEST_F(Usages, OfCodeInAContextAreNotCountedAgainWithItsInterpreter) {
  end("default", "a", "s1", 100, 10, "x3");
  end("default", "a", "s2", 200, 20, "x3");
  end("default", "a", "", 300, 35);  // x3, the interpreter: the code, and 5 of its own
  const UsageTotal total = store_->total_usage({.project = "default"}).value();
  EXPECT_EQ(total.figures.cpu_user_ms, 35u);
  EXPECT_EQ(total.figures.memory_peak_bytes, 35u);
  EXPECT_EQ(store_->total_usage({.project = "default", .session = "s2"})->figures.cpu_user_ms, 20u);
}

TEST_F(Usages, AreOnRecordWithTheEndOrNotAtAll) {
  EXPECT_CODE(Code::NotFound, store_->end_exec(exec("none", "none"), {}, {}));
  EXPECT_EQ(store_->total_usage({.project = "default"})->execs, 0u);
}

}  // namespace
}  // namespace cove
