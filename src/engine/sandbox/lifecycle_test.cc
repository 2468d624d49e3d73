#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "engine/testing.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

class Lifecycles : public EngineTest {
 protected:
  static CreateOrder named(const std::string& name) {
    CreateOrder order;
    order.spec.name = name;
    return order;
  }
  static CreateOrder not_started() {
    CreateOrder order;
    order.start = false;
    return order;
  }
  static CreateOrder with_key(const std::string& key, const std::string& hash) {
    CreateOrder order;
    order.idempotency_key = key;
    order.request_hash = hash;
    return order;
  }
  std::vector<std::string> ids_of(const SandboxFilter& filter) {
    std::vector<std::string> ids;
    const Page<SandboxInfo> page = engine().list(caller(), filter, "", 100).value();
    for (const SandboxInfo& each : page.items) ids.push_back(each.spec.id);
    return ids;
  }
};

TEST_F(Lifecycles, ASandboxRunsOnceItIsMade) {
  SandboxInfo made = create();
  EXPECT_EQ(made.state, State::Running);
  EXPECT_EQ(made.created_ms, clock_->now_ms());
  EXPECT_EQ(made.started_ms, clock_->now_ms());
  EXPECT_THAT(machine_.running(), ElementsAre(made.spec.id));
  EXPECT_EQ(run(made.spec.id, {"print", "hello"}).out, "hello");
  EXPECT_THAT(event_kinds(made.spec.id), ElementsAre("sandbox.created", "exec.started", "exec.ended"));
}

TEST_F(Lifecycles, LimitsThatNobodyNamedAreTheConfigurations) {
  config_.limits.memory.value = 123 * kMiB;
  CreateOrder order;
  order.spec.limits.processes.name(7);
  SandboxInfo made = create(order);
  EXPECT_EQ(machine_.spec_of(made.spec.id).limits.memory.value, 123 * kMiB);
  EXPECT_EQ(machine_.spec_of(made.spec.id).limits.processes.value, 7u);
  EXPECT_EQ(made.enforced.at("processes").value, "7");
}

TEST_F(Lifecycles, OneThatIsNotStartedUsesNothingOfTheMachine) {
  SandboxInfo made = create(not_started());
  EXPECT_EQ(made.state, State::Stopped);
  EXPECT_THAT(machine_.remains(), IsEmpty());
  ASSERT_OK(engine().start(caller(), made.spec.id));
  EXPECT_EQ(state_of(made.spec.id), State::Running);
  EXPECT_THAT(machine_.running(), ElementsAre(made.spec.id));
}

TEST_F(Lifecycles, FilesOutliveAStop) {
  const std::string id = create().spec.id;
  run(id, {"save", "/tmp/a", "kept"});
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_THAT(find(id).reason, HasSubstr("uid:1000"));
  EXPECT_THAT(machine_.running(), IsEmpty());
  ASSERT_OK(engine().start(caller(), id));
  EXPECT_EQ(run(id, {"show", "/tmp/a"}).out, "kept");
}

TEST_F(Lifecycles, FilesGoWithTheirSandbox) {
  const std::string id = create().spec.id;
  run(id, {"save", "/tmp/a", "gone"});
  ASSERT_OK(engine().remove(caller(), id));
  EXPECT_FALSE(exists(id));
  EXPECT_TRUE(becomes([&] { return machine_.remains().empty(); }));
  EXPECT_CODE(Code::NotFound, engine().remove(caller(), id));
}

TEST_F(Lifecycles, AStoppedSandboxIsRemovedWithItsFiles) {
  const std::string id = create().spec.id;
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_THAT(machine_.remains(), ElementsAre(id));
  ASSERT_OK(engine().remove(caller(), id));
  EXPECT_THAT(machine_.remains(), IsEmpty());
}

TEST_F(Lifecycles, OneThatNeverRanIsRemovedWithoutAsking) {
  const std::string id = create(not_started()).spec.id;
  machine_.refuse_destruction(Error(Code::Internal, "nobody should have asked"));
  EXPECT_OK(engine().remove(caller(), id));
}

TEST_F(Lifecycles, APausedSandboxDoesNothing) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep-for", "1000", "print", "awake"});
  ASSERT_OK(engine().pause(caller(), id));
  EXPECT_EQ(state_of(id), State::Paused);
  EXPECT_TRUE(machine_.is_frozen(id));
  advance(seconds(2));
  EXPECT_FALSE(exec->ended());
  ASSERT_OK(engine().resume(caller(), id));
  EXPECT_FALSE(machine_.is_frozen(id));
  EXPECT_EQ(wait_for(*exec).out, "awake");
}

TEST_F(Lifecycles, WhatIsSoAlreadyIsNoError) {
  const std::string id = create().spec.id;
  EXPECT_OK(engine().start(caller(), id));
  EXPECT_OK(engine().resume(caller(), id));
  ASSERT_OK(engine().pause(caller(), id));
  EXPECT_OK(engine().pause(caller(), id));
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_OK(engine().stop(caller(), id, seconds(0)));
}

TEST_F(Lifecycles, WhatAStateDoesNotAllowIsRefusedWithWhatItDoes) {
  const std::string id = create().spec.id;
  ASSERT_OK(engine().pause(caller(), id));
  Result<SandboxInfo> refused = engine().start(caller(), id);
  EXPECT_CODE(Code::Conflict, refused);
  EXPECT_THAT(message_of(refused), HasSubstr("paused"));
  EXPECT_THAT(hint_of(refused), HasSubstr("resumed"));
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_CODE(Code::Conflict, engine().pause(caller(), id));
  EXPECT_CODE(Code::Conflict, engine().resume(caller(), id));
}

TEST_F(Lifecycles, APausedSandboxCanBeStopped) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep"});
  ASSERT_OK(engine().pause(caller(), id));
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_EQ(wait_for(*exec).status, "killed");
  EXPECT_THAT(machine_.running(), IsEmpty());
}

TEST_F(Lifecycles, WhereNothingCanBePausedThatIsSaid) {
  machine_.set_capabilities({.name = "native"});
  const std::string id = create().spec.id;
  EXPECT_CODE(Code::Unsupported, engine().pause(caller(), id));
  EXPECT_EQ(state_of(id), State::Running);
}

TEST_F(Lifecycles, AStopAsksFirst) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> polite = start_exec(id, {"sleep"});
  ASSERT_OK(engine().stop(caller(), id, seconds(10)));
  EXPECT_EQ(wait_for(*polite).signal, 15) << "it was asked, and that was enough";
}

TEST_F(Lifecycles, AStopForcesWhatDoesNotListenAfterItsGrace) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> deaf = start_exec(id, {"ignore-term", "print", "ready", "sleep"});
  ASSERT_TRUE(has_printed(*deaf, "ready"));
  std::thread stopping([&] { EXPECT_OK(engine().stop(caller(), id, seconds(10))); });
  advance(seconds(9));
  EXPECT_FALSE(deaf->ended());
  EXPECT_TRUE(becomes([&] {
    clock_->move(seconds(1));
    return deaf->ended();
  }));
  stopping.join();
  Outcome outcome = wait_for(*deaf);
  EXPECT_EQ(outcome.signal, 9);
  EXPECT_THAT(outcome.why, HasSubstr("stopped"));
}

TEST_F(Lifecycles, ASandboxForOneUseIsNotStopped) {
  CreateOrder order;
  order.spec.one_use = true;
  const std::string id = create(order).spec.id;
  EXPECT_CODE(Code::Conflict, engine().stop(caller(), id, seconds(0)));
  EXPECT_EQ(state_of(id), State::Running);
}

TEST_F(Lifecycles, WhatCannotBeMadeLeavesNothing) {
  machine_.refuse_creation(Error(Code::Unavailable, "no walls today"));
  Result<SandboxInfo> refused = engine().create(caller(), named("mine"));
  EXPECT_CODE(Code::Unavailable, refused);
  EXPECT_THAT(ids_of({}), IsEmpty());
  EXPECT_EQ(engine().usage("").value().sandboxes, 0u);
  EXPECT_THAT(machine_.remains(), IsEmpty());
  machine_.refuse_creation(std::nullopt);
  EXPECT_EQ(create(named("mine")).state, State::Running) << "the name is free again";
}

TEST_F(Lifecycles, WhatCannotBeStartedStaysStopped) {
  const std::string id = create().spec.id;
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  const uint64_t memory = engine().usage("").value().memory;
  machine_.refuse_creation(Error(Code::Unavailable, "no walls today"));
  Result<SandboxInfo> refused = engine().start(caller(), id);
  EXPECT_CODE(Code::Unavailable, refused);
  EXPECT_THAT(message_of(refused), HasSubstr(id));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_EQ(engine().usage("").value().memory, memory);
  machine_.refuse_creation(std::nullopt);
  EXPECT_OK(engine().start(caller(), id));
}

TEST_F(Lifecycles, ASandboxWhoseProcessOneEndsIsStopped) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep"});
  machine_.end_process_one(id);
  EXPECT_TRUE(becomes([&] { return state_of(id) == State::Stopped; }));
  EXPECT_THAT(find(id).reason, HasSubstr("process 1"));
  EXPECT_EQ(wait_for(*exec).status, "killed");
  EXPECT_THAT(event_kinds(id), testing::Contains("sandbox.failed"));
  EXPECT_OK(engine().start(caller(), id));
}

TEST_F(Lifecycles, ASandboxThatRanOutOfMemorySaysSo) {
  const std::string id = create().spec.id;
  machine_.run_out_of_memory(id);
  EXPECT_TRUE(becomes([&] { return state_of(id) == State::Stopped; }));
  EXPECT_THAT(find(id).reason, HasSubstr("memory"));
}

TEST_F(Lifecycles, AWholeProjectHasANameOnce) {
  const std::string id = create(named("web")).spec.id;
  EXPECT_EQ(find("web").spec.id, id);
  Result<SandboxInfo> refused = engine().create(caller(), named("web"));
  EXPECT_CODE(Code::Exists, refused);
  EXPECT_THAT(hint_of(refused), HasSubstr(id));
  ASSERT_OK(engine().remove(caller(), "web"));
  EXPECT_NE(create(named("web")).spec.id, id);
}

TEST_F(Lifecycles, TwoProjectsDoNotSeeEachOther) {
  ProjectRecord other;
  other.id = "other";
  ASSERT_OK(engine().store().insert_project(other, {}));
  const std::string id = create(named("web")).spec.id;
  const std::string theirs = create(named("web"), "other").spec.id;
  EXPECT_NE(id, theirs);
  EXPECT_CODE(Code::NotFound, engine().find(caller("other"), id));
  EXPECT_CODE(Code::NotFound, engine().remove(caller("other"), id));
  EXPECT_EQ(engine().find(caller("other"), "web").value().spec.id, theirs);
  EXPECT_EQ(engine().list(caller("other"), {}, "", 10).value().items.size(), 1u);
}

TEST_F(Lifecycles, ARenamedSandboxIsFoundByItsNewNameOnly) {
  const std::string id = create(named("old")).spec.id;
  create(named("taken"));
  UpdateOrder rename;
  rename.name = "new";
  ASSERT_OK(engine().update(caller(), id, rename));
  EXPECT_EQ(find("new").spec.id, id);
  EXPECT_FALSE(exists("old"));
  rename.name = "taken";
  EXPECT_CODE(Code::Exists, engine().update(caller(), id, rename));
}

TEST_F(Lifecycles, ListsAreFilteredByLabelsAndState) {
  CreateOrder order;
  order.spec.labels = {{"team", "a"}, {"stage", "test"}};
  const std::string first = create(order).spec.id;
  advance(milliseconds(1));
  order.spec.labels = {{"team", "b"}};
  const std::string second = create(order).spec.id;
  ASSERT_OK(engine().stop(caller(), second, seconds(0)));
  EXPECT_THAT(ids_of({.labels = {{"team", "a"}}}), ElementsAre(first));
  EXPECT_THAT(ids_of({.labels = {{"team", ""}}}), ElementsAre(first, second)) << "any value";
  EXPECT_THAT(ids_of({.labels = {{"team", "b"}, {"stage", "test"}}}), IsEmpty());
  EXPECT_THAT(ids_of({.state = State::Stopped}), ElementsAre(second));
}

TEST_F(Lifecycles, ListsComeInPagesInTheOrderOfMaking) {
  std::vector<std::string> made, listed;
  for (int i = 0; i < 5; ++i) {
    made.push_back(create().spec.id);
    advance(milliseconds(1));
  }
  std::string after;
  do {
    Page<SandboxInfo> page = engine().list(caller(), {}, after, 2).value();
    EXPECT_LE(page.items.size(), 2u);
    for (const SandboxInfo& each : page.items) listed.push_back(each.spec.id);
    after = page.next;
  } while (!after.empty());
  EXPECT_EQ(listed, made);
}

TEST_F(Lifecycles, TheSameRequestMakesOneSandbox) {
  const std::string id = create(with_key("k", "h")).spec.id;
  EXPECT_EQ(create(with_key("k", "h")).spec.id, id);
  EXPECT_CODE(Code::Conflict, engine().create(caller(), with_key("k", "another")));
  EXPECT_EQ(machine_.created(), 1u);
  ASSERT_OK(engine().remove(caller(), id));
  EXPECT_CODE(Code::NotFound, engine().create(caller(), with_key("k", "h")));
}

TEST_F(Lifecycles, ARequestThatIsRepeatedMeanwhileWaitsForItsSandbox) {
  engine();
  machine_.hold_creation();
  std::vector<std::string> ids(2);
  std::thread first([&] { ids[0] = create(with_key("k", "h")).spec.id; });
  EXPECT_TRUE(becomes([&] { return machine_.held() == 1; }));
  std::thread second([&] { ids[1] = create(with_key("k", "h")).spec.id; });
  machine_.let_go();
  first.join(), second.join();
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(machine_.created(), 1u);
}

TEST_F(Lifecycles, ARequestThatFailedMayBeRepeated) {
  machine_.refuse_creation(Error(Code::Unavailable, "not now"));
  EXPECT_CODE(Code::Unavailable, engine().create(caller(), with_key("k", "h")));
  machine_.refuse_creation(std::nullopt);
  EXPECT_EQ(create(with_key("k", "h")).state, State::Running);
}

TEST_F(Lifecycles, AnIdempotencyKeyIsForgottenAfterADay) {
  const std::string id = create(with_key("k", "h")).spec.id;
  close();
  clock_->move(hours(25));
  open();
  advance(seconds(1));
  EXPECT_NE(create(with_key("k", "h")).spec.id, id);
}

TEST_F(Lifecycles, LimitsOfARunningSandboxChangeAtOnce) {
  const std::string id = create().spec.id;
  UpdateOrder order;
  order.limits.emplace().memory.name(512 * kMiB);
  SandboxInfo changed = engine().update(caller(), id, order).value();
  EXPECT_EQ(changed.spec.limits.memory.value, 512 * kMiB);
  EXPECT_EQ(machine_.spec_of(id).limits.memory.value, 512 * kMiB);
  EXPECT_EQ(changed.enforced.at("memory").value, "512 MiB");
  UpdateOrder lifted;
  lifted.limits.emplace().memory.name(0);
  EXPECT_CODE(Code::Conflict, engine().update(caller(), id, lifted));
  UpdateOrder disk;
  disk.limits.emplace().disk.name(kGiB);
  EXPECT_CODE(Code::Conflict, engine().update(caller(), id, disk));
}

TEST_F(Lifecycles, AReaderChangesNothing) {
  const std::string id = create().spec.id;
  Caller reader = caller();
  reader.scopes = Scopes({Scope::Read});
  EXPECT_OK(engine().find(reader, id));
  EXPECT_CODE(Code::Denied, engine().stop(reader, id, seconds(0)));
  EXPECT_CODE(Code::Denied, engine().remove(reader, id));
  EXPECT_CODE(Code::Denied, engine().exec(reader, id, {}));
  EXPECT_CODE(Code::Denied, engine().create(reader, {}));
}

TEST_F(Lifecycles, ATokenSeesItsOneSandbox) {
  const std::string mine = create().spec.id;
  const std::string other = create().spec.id;
  Caller token = caller();
  token.only_sandbox = mine;
  EXPECT_OK(engine().find(token, mine));
  EXPECT_CODE(Code::NotFound, engine().find(token, other));
  EXPECT_CODE(Code::Denied, engine().create(token, {}));
  EXPECT_EQ(engine().list(token, {}, "", 10).value().items.size(), 1u);
}

TEST_F(Lifecycles, FilesAreReadAndWrittenThroughAView) {
  const std::string id = create().spec.id;
  Engine::FileLease lease = engine().files(caller(), id, "", Scope::Run).value();
  UniqueFd file = lease.view->open("/tmp/note", O_WRONLY | O_CREAT, 0644).value();
  ASSERT_OK(sys::write_all(file.get(), "from outside"));
  EXPECT_EQ(run(id, {"show", "/tmp/note"}).out, "from outside");
  ASSERT_OK(lease.view->mkdir("/tmp/notes", 0755, Depth::One));
  ASSERT_OK(lease.view->rename("/tmp/note", "/tmp/notes/first"));
  const std::vector<FileEntry> notes = lease.view->list("/tmp/notes").value();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].name, "first");
  EXPECT_EQ(notes[0].size, 12u);
  ASSERT_OK(lease.view->remove("/tmp/notes", Depth::Recursive));
  EXPECT_EQ(run(id, {"show", "/tmp/notes/first"}).out, "");
}

}  // namespace
}  // namespace cove::engine
