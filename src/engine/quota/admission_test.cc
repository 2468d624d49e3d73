#include "engine/quota/admission.h"

#include "engine/testing.h"

namespace cove::engine {
namespace {

// Of sandboxes in a running engine.
class Quotas : public EngineTest {
 protected:
  Result<SandboxInfo> try_create(uint64_t memory, const std::string& project = kDefaultProject) {
    CreateOrder order;
    order.spec.limits.memory.name(memory);
    order.spec.limits.disk.name(kGiB);
    return engine().create(caller(project), std::move(order));
  }
  std::string make(uint64_t memory, const std::string& project = kDefaultProject) {
    Result<SandboxInfo> made = try_create(memory, project);
    EXPECT_TRUE(made) << made.error().message();
    return made ? made->spec.id : "";
  }
  void add_project(const std::string& id, const std::string& quotas) {
    ProjectRecord project;
    project.id = id;
    project.quotas = quotas;
    ASSERT_OK(engine().store().insert_project(project, {}));
  }
  Result<SandboxInfo> change_memory(const std::string& id, uint64_t bytes) {
    UpdateOrder order;
    order.limits.emplace().memory.name(bytes);
    return engine().update(caller(), id, order);
  }
};

TEST_F(Quotas, RefuseTheSandboxThatIsOneTooMany) {
  config_.quotas.sandboxes = 2;
  make(kGiB);
  const std::string second = make(kGiB);
  Result<SandboxInfo> refused = try_create(kGiB);
  EXPECT_CODE(Code::Exhausted, refused);
  EXPECT_THAT(message_of(refused), HasSubstr("project default has 2 of at most 2"));
  EXPECT_EQ(machine_.attempts(), 2u) << "the machine was not asked";
  ASSERT_OK(engine().remove(caller(), second));
  EXPECT_OK(try_create(kGiB));
}

TEST_F(Quotas, AStoppedSandboxStillCountsAsOne) {
  config_.quotas.sandboxes = 1;
  ASSERT_OK(engine().stop(caller(), make(kGiB), seconds(0)));
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
}

TEST_F(Quotas, HoldTheSumOfMemory) {
  config_.quotas.memory = 4 * kGiB;
  make(3 * kGiB);
  EXPECT_CODE(Code::Exhausted, try_create(2 * kGiB));
  EXPECT_OK(try_create(1 * kGiB));  // to the byte
  EXPECT_CODE(Code::Exhausted, try_create(1));
}

TEST_F(Quotas, HoldTheSumOfDisk) {
  config_.quotas.disk = 2 * kGiB;
  make(kGiB);
  const std::string second = make(kGiB);
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
  ASSERT_OK(engine().stop(caller(), second, seconds(0)));
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));  // its files are still there
  ASSERT_OK(engine().remove(caller(), second));
  EXPECT_OK(try_create(kGiB));
}

TEST_F(Quotas, AStoppedSandboxGivesItsMemoryAndMustFindItAgain) {
  config_.quotas.memory = 4 * kGiB;
  const std::string first = make(3 * kGiB);
  ASSERT_OK(engine().stop(caller(), first, seconds(0)));
  const std::string second = make(3 * kGiB);
  Result<SandboxInfo> refused = engine().start(caller(), first);
  EXPECT_CODE(Code::Exhausted, refused);
  EXPECT_EQ(state_of(first), State::Stopped);
  ASSERT_OK(engine().remove(caller(), second));
  EXPECT_OK(engine().start(caller(), first));
}

TEST_F(Quotas, APausedSandboxKeepsItsMemory) {
  config_.quotas.memory = 4 * kGiB;
  ASSERT_OK(engine().pause(caller(), make(3 * kGiB)));
  EXPECT_CODE(Code::Exhausted, try_create(2 * kGiB));
}

TEST_F(Quotas, ASandboxThatEndedByItselfGivesItsMemory) {
  config_.quotas.memory = 4 * kGiB;
  const std::string id = make(3 * kGiB);
  machine_.end_process_one(id);
  ASSERT_TRUE(becomes([&] { return state_of(id) == State::Stopped; }));
  EXPECT_OK(try_create(3 * kGiB));
}

TEST_F(Quotas, WhatCouldNotBeMadeUsesNone) {
  config_.quotas.memory = 4 * kGiB;
  config_.quotas.sandboxes = 1;
  machine_.refuse_creation(Error(Code::Unavailable, "not now"));
  for (int i = 0; i < 3; ++i) EXPECT_CODE(Code::Unavailable, try_create(3 * kGiB));
  machine_.refuse_creation(std::nullopt);
  EXPECT_OK(try_create(3 * kGiB));
}

TEST_F(Quotas, ANameThatIsTakenUsesNone) {
  CreateOrder order;
  order.spec.name = "web";
  create(order);
  const Numbers before = engine().usage("").value();
  EXPECT_CODE(Code::Exists, engine().create(caller(), order));
  EXPECT_EQ(engine().usage("").value().sandboxes, before.sandboxes);
  EXPECT_EQ(engine().usage("").value().memory, before.memory);
}

TEST_F(Quotas, GrowthMustFindRoomAndShrinkingGivesSome) {
  config_.quotas.memory = 4 * kGiB;
  const std::string first = make(2 * kGiB);
  const std::string second = make(1 * kGiB);
  EXPECT_CODE(Code::Exhausted, change_memory(first, 4 * kGiB));
  EXPECT_EQ(find(first).spec.limits.memory.value, 2 * kGiB);
  EXPECT_EQ(machine_.spec_of(first).limits.memory.value, 2 * kGiB);
  EXPECT_OK(change_memory(first, 3 * kGiB));
  EXPECT_CODE(Code::Exhausted, try_create(1));
  EXPECT_OK(change_memory(first, kGiB));
  EXPECT_OK(try_create(2 * kGiB));
}

TEST_F(Quotas, EachProjectHasItsOwn) {
  config_.quotas.sandboxes = 1;
  add_project("large", R"({"sandboxes":2})");
  add_project("usual", "{}");
  make(kGiB);
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
  make(kGiB, "large");
  make(kGiB, "large");
  EXPECT_CODE(Code::Exhausted, try_create(kGiB, "large"));
  make(kGiB, "usual");
  EXPECT_EQ(engine().usage("large").value().sandboxes, 2u);
  EXPECT_EQ(engine().usage("").value().sandboxes, 4u);
}

TEST_F(Quotas, TheServersLimitsHoldForAllProjectsTogether) {
  config_.admission.sandboxes = 2;
  add_project("other", "{}");
  make(kGiB);
  const std::string theirs = make(kGiB, "other");
  Result<SandboxInfo> refused = try_create(kGiB);
  EXPECT_CODE(Code::Exhausted, refused);
  EXPECT_THAT(message_of(refused), HasSubstr("the server"));
  ASSERT_OK(engine().remove(caller("other"), theirs));
  EXPECT_OK(try_create(kGiB));
}

TEST_F(Quotas, WithoutALimitWhatTheMachineHasLeftDecides) {
  open();
  room_.memory_available = kGiB;  // less than a twentieth
  advance(seconds(1));
  Result<SandboxInfo> refused = try_create(kGiB);
  EXPECT_CODE(Code::Exhausted, refused);
  EXPECT_THAT(message_of(refused), HasSubstr("1 GiB of memory left"));
  room_.memory_available = 32 * kGiB;
  room_.disk_free = 100 * kMiB;
  advance(seconds(1));
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
  room_.disk_free = 100 * kGiB;
  advance(seconds(1));
  EXPECT_OK(try_create(kGiB));
}

TEST_F(Quotas, WhereTheAdministratorSetALimitTheMachineIsNotAsked) {
  config_.admission.memory = 100 * kGiB;
  config_.admission.disk = 100 * kGiB;
  room_.memory_available = 0;
  room_.disk_free = 0;
  EXPECT_OK(try_create(kGiB));
}

TEST_F(Quotas, ARefusalIsCountedAndTold) {
  config_.quotas.sandboxes = 1;
  make(kGiB);
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
  EXPECT_EQ(engine().counts().refusals, 1u);
  EventFilter filter;
  filter.kinds = {"request.refused"};
  EXPECT_EQ(engine().events(caller(), filter, 0, 10).value().size(), 1u);
}

TEST_F(Quotas, KeptOutputCountsAsDisk) {
  config_.quotas.disk = 2 * kGiB;
  const std::string id = make(kGiB);
  EXPECT_EQ(run(id, {"flood", "100000"}).status, "success");
  EXPECT_GE(engine().usage(kDefaultProject).value().logs, 100'000u);
  EXPECT_CODE(Code::Exhausted, try_create(kGiB));
}

TEST_F(Quotas, OverTheNetworkTheMaximaHold) {
  config_.maxima.most.memory.value = 4 * kGiB;
  Caller remote = caller();
  remote.local = false;
  CreateOrder order;
  order.spec.limits.memory.name(5 * kGiB);
  EXPECT_CODE(Code::Denied, engine().create(remote, order));
  EXPECT_OK(engine().create(caller(), order));
  order.spec.limits.memory.name(0);
  EXPECT_CODE(Code::Denied, engine().create(remote, order));
  order.spec.limits.memory.name(4 * kGiB);
  EXPECT_OK(engine().create(remote, order));
}

TEST_F(Quotas, NestingOverTheNetworkTakesTheScopeAdmin) {
  Caller remote = caller();
  remote.local = false;
  remote.scopes = Scopes({Scope::Run});
  CreateOrder order;
  order.spec.nesting = true;
  EXPECT_CODE(Code::Denied, engine().create(remote, order));
  remote.scopes = Scopes({Scope::Admin});
  EXPECT_OK(engine().create(remote, order));
}

}  // namespace
}  // namespace cove::engine
