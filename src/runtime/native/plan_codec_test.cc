#include "runtime/native/plan_codec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/file.h"

namespace cove::native {
namespace {

SpawnPlan make_plan() {
  SpawnPlan plan;
  plan.id = "abcdefghij0123456789";
  plan.hostname = "name";
  plan.init_program = "/lib/cove-init";
  plan.image.reference = "host@0123456789abcdef";
  plan.image.mounts = {{"", {"/skeleton"}, false}, {"usr", {"/over/usr", "/usr"}, true}};
  plan.image.binds = {{"opt/tool", "/opt/tool"}};
  plan.image.dev = "/dev-folder";
  plan.image.dev_nodes = DevNodes::Real;
  plan.image.folder = "/folder";
  plan.layer = {LayerKind::Pool, 1, 2, "/layer", -1};
  plan.ids.shared = true;
  plan.ids.users = {{0, 100, 1000}, {1000, 5000, 7}};
  plan.ids.groups = {{0, 200, 65536}};
  plan.workspace.path = "/work";
  plan.workspace.access = Access::Review;
  plan.workspace_owner = 17;
  plan.own_folders = {"/var/lib/cove", "/run/cove"};
  plan.shm_bytes = 64;
  plan.memory = 128;
  plan.nesting = true;
  plan.ends_with_exec = true;
  plan.lifetime = Lifetime::Long;
  return plan;
}

Result<PlanMessage> send(const SpawnPlan& plan) {
  UniqueFd control(::dup(0)), status(::dup(0));
  EncodedPlan encoded = encode_plan(plan, control.get(), status.get());
  std::vector<UniqueFd> fds;
  for (int fd : encoded.fds) fds.emplace_back(::dup(fd));
  return decode_plan(encoded.data, std::move(fds));
}

TEST(PlanCodec, KeepsEveryValue) {
  const SpawnPlan plan = make_plan();
  Result<PlanMessage> message = send(plan);
  ASSERT_TRUE(message) << message.error().message();
  const SpawnPlan& got = message->plan;
  EXPECT_EQ(got.id, plan.id);
  EXPECT_EQ(got.hostname, plan.hostname);
  EXPECT_EQ(got.init_program, plan.init_program);
  EXPECT_EQ(got.image.reference, plan.image.reference);
  ASSERT_EQ(got.image.mounts.size(), 2u);
  EXPECT_EQ(got.image.mounts[1].target, "usr");
  EXPECT_EQ(got.image.mounts[1].lowers, plan.image.mounts[1].lowers);
  EXPECT_TRUE(got.image.mounts[1].foreign);
  EXPECT_FALSE(got.image.mounts[0].foreign);
  ASSERT_EQ(got.image.binds.size(), 1u);
  EXPECT_EQ(got.image.binds[0].target, "opt/tool");
  EXPECT_EQ(got.image.binds[0].source, "/opt/tool");
  EXPECT_EQ(got.image.dev, plan.image.dev);
  EXPECT_EQ(got.image.dev_nodes, DevNodes::Real);
  EXPECT_EQ(got.image.folder, plan.image.folder);
  EXPECT_EQ(got.layer.kind, LayerKind::Pool);
  EXPECT_EQ(got.layer.bytes, 1u);
  EXPECT_EQ(got.layer.inodes, 2u);
  EXPECT_EQ(got.layer.folder, "/layer");
  EXPECT_TRUE(got.ids.shared);
  EXPECT_FALSE(got.ids.single_id);
  EXPECT_EQ(sys::id_map_text(got.ids.users), sys::id_map_text(plan.ids.users));
  EXPECT_EQ(sys::id_map_text(got.ids.groups), sys::id_map_text(plan.ids.groups));
  EXPECT_EQ(got.workspace.path, "/work");
  EXPECT_EQ(got.workspace.access, Access::Review);
  EXPECT_EQ(got.workspace_owner, 17u);
  EXPECT_EQ(got.own_folders, plan.own_folders);
  EXPECT_EQ(got.shm_bytes, 64u);
  EXPECT_EQ(got.memory, 128u);
  EXPECT_TRUE(got.nesting);
  EXPECT_TRUE(got.ends_with_exec);
  EXPECT_EQ(got.lifetime, Lifetime::Long);
}

TEST(PlanCodec, PutsEveryDescriptorWhereItBelongs) {
  std::vector<UniqueFd> files;
  auto open = [&](const char* path) { return files.emplace_back(*sys::open(path, O_RDONLY)).get(); };
  SpawnPlan plan = make_plan();
  plan.layer.mount = open("/usr");
  plan.listener = open("/etc");
  plan.ids.lock = *sys::open("/tmp", O_RDONLY);
  Result<PlanMessage> message = send(plan);
  ASSERT_TRUE(message);
  auto path_of = [](int fd) { return sys::readlink(sys::fd_path(fd)).value_or("none"); };
  EXPECT_EQ(path_of(message->plan.layer.mount), "/usr");
  EXPECT_EQ(path_of(message->plan.listener), "/etc");
  EXPECT_EQ(path_of(message->plan.ids.lock.get()), "/tmp");
  EXPECT_EQ(message->plan.workspace.mount, -1);
  EXPECT_FALSE(message->plan.image_hold);
}

TEST(PlanCodec, RefusesHalfAnOrder) {
  SpawnPlan plan = make_plan();
  UniqueFd one(::dup(0)), other(::dup(0));
  EncodedPlan encoded = encode_plan(plan, one.get(), other.get());
  for (size_t size = 0; size < encoded.data.size(); ++size) {
    std::vector<UniqueFd> fds;
    for (int fd : encoded.fds) fds.emplace_back(::dup(fd));
    EXPECT_FALSE(decode_plan(std::string_view(encoded.data).substr(0, size), std::move(fds))) << size;
  }
  EXPECT_FALSE(decode_plan(encoded.data, {}));
}

}  // namespace
}  // namespace cove::native
