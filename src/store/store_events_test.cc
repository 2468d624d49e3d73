#include "base/text.h"
#include "store/database.h"
#include "store/event_query.h"
#include "store/store_fixture.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Stores, EventsAreNumberedAndResumable) {
  int woken = 0;
  store_->on_events([&] { ++woken; });
  std::vector<EventDraft> two = {event("a.one"), event("a.two", "other")};
  two[0].time_ms = 5;
  two[0].sandbox_id = "s";
  two[0].exec_id = "e";
  two[0].data = R"({"n":1})";
  EXPECT_EQ(store_->append_events(two).value(), 2u);
  EXPECT_EQ(store_->insert_sandbox(sandbox("s"), {}, two).value(), 4u);
  EXPECT_EQ(store_->touch_sandbox("s", 1, 2).has_value(), true);
  EXPECT_EQ(store_->append_events({}).value(), 0u);
  EXPECT_EQ(woken, 2);
  reopen();
  EXPECT_EQ(store_->last_event(), 4u);
  EXPECT_EQ(store_->append_events({two.data(), 1}).value(), 5u);
  EXPECT_THAT(kinds_after(0), ElementsAre("a.one", "a.two", "a.one", "a.two", "a.one"));
  EXPECT_THAT(kinds_after(3), ElementsAre("a.two", "a.one"));
  EXPECT_THAT(kinds_after(1, "other"), ElementsAre("a.two", "a.two"));
  EXPECT_THAT(kinds_after(0, "", 2), ElementsAre("a.one", "a.two"));
  EXPECT_THAT(kinds_after(5), IsEmpty());
  EXPECT_THAT(kinds_after(UINT64_MAX), IsEmpty());
  EXPECT_EQ(store_->events_after(0, "", 1)->front(),
            (EventRecord{1, 5, "a.one", "default", "s", "e", "uid:0", R"({"n":1})"}));
  EXPECT_GT(store_->events_after(1, "", 1)->front().time_ms, 1'600'000'000'000);
}

TEST_F(Stores, FindsRareEventsOfAProjectAmongMany) {
  std::vector<EventDraft> many(12'000, event("noise"));
  many[3] = event("first", "rare");
  many[11'998] = event("second", "rare");
  ASSERT_OK(store_->append_events(many));
  EXPECT_THAT(kinds_after(0, "rare"), ElementsAre("first", "second"));
  EXPECT_THAT(kinds_after(4, "rare"), ElementsAre("second"));
  EXPECT_THAT(kinds_after(0, "rare", 1), ElementsAre("first"));
}

TEST_F(Stores, PrunesEventsAndGoesOnCounting) {
  for (int i = 1; i <= 1200; ++i) {
    EventDraft draft = event(concat("e", i));
    draft.time_ms = i;
    ASSERT_OK(store_->append_events({&draft, 1}));
  }
  EXPECT_EQ(store_->prune_events(0, 0).value(), 0u);
  EXPECT_EQ(store_->prune_events(11, 0).value(), 10u);
  EXPECT_EQ(store_->first_event().value(), 11u);
  EXPECT_EQ(store_->prune_events(0, 100).value(), 1090u);
  EXPECT_EQ(store_->first_event().value(), 1101u);
  EXPECT_THAT(kinds_after(0, "", 1), ElementsAre("e1101"));
  EXPECT_EQ(store_->prune_events(INT64_MAX, 0).value(), 99u);
  EXPECT_THAT(kinds_after(0), ElementsAre("e1200"));
  reopen();
  EXPECT_EQ(store_->last_event(), 1200u);
  EventDraft next = event("next");
  EXPECT_EQ(store_->append_events({&next, 1}).value(), 1201u);
}

TEST_F(Stores, FindsEventsByAnIndexOfTheirOwn) {
  EventFilter by_project, by_sandbox, by_session;
  by_project.project = by_sandbox.project = by_session.project = "default";
  by_project.kinds = {"exec.ended"};
  by_sandbox.sandbox_id = "a";
  by_session.session = "s";
  const std::pair<EventFilter, std::string> cases[] = {
      {by_project, "SEARCH events USING INDEX events_by_project (project=? AND seq>? AND seq<?)"},
      {by_sandbox, "SEARCH events USING INDEX events_by_sandbox (sandbox_id=? AND seq>? AND seq<?)"},
      {by_session, "SEARCH events USING INDEX events_by_session (session=? AND seq>? AND seq<?)"}};
  for (const auto& [filter, expected] : cases) {
    // Its statements are known by their addresses.
    std::unique_ptr<Database> database = std::move(*Database::open(file()));
    const std::string explain = concat("EXPLAIN QUERY PLAN ", std::string_view(event_query(filter)));
    Query plan = database->query(explain.c_str()).value();
    ASSERT_TRUE(plan.next().value());
    EXPECT_EQ(plan.text(3), expected);
    while (plan.next().value()) EXPECT_THAT(plan.text(3), testing::Not(HasSubstr("TEMP B-TREE")));
  }
}

TEST_F(Stores, FiltersEventsOfOneProjectAmongManyOfOthers) {
  std::vector<EventDraft> many(500, event("exec.ended", "other"));
  ASSERT_OK(store_->append_events(many));
  EventDraft mine = event("exec.ended", "mine");
  mine.sandbox_id = "a";
  mine.data = R"({"session":"s","status":"success"})";
  EventDraft odd = event("file.written", "mine");
  odd.data = R"({"session":{"not":"a text"},"path":"\"session\":"})";
  ASSERT_OK(store_->append_events(std::vector{mine, odd}));
  ASSERT_OK(store_->append_events(many));
  auto found = [&](EventFilter filter) {
    filter.project = "mine";
    std::vector<uint64_t> numbers;
    const std::vector<EventRecord> events = store_->events_after(0, filter, 100).value();
    for (const EventRecord& each : events) numbers.push_back(each.seq);
    return numbers;
  };
  EXPECT_THAT(found({}), ElementsAre(501, 502));
  EXPECT_THAT(found({.kinds = {"exec"}}), ElementsAre(501));
  EXPECT_THAT(found({.kinds = {"file.written"}}), ElementsAre(502));
  EXPECT_THAT(found({.sandbox_id = "a"}), ElementsAre(501));
  EXPECT_THAT(found({.session = "s"}), ElementsAre(501));
  EXPECT_THAT(found({.sandbox_id = "a", .session = "other"}), IsEmpty());
}

}  // namespace
}  // namespace cove
