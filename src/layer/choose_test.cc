#include "layer/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Limit<uint64_t> named(uint64_t value) {
  Limit<uint64_t> limit;
  limit.name(value);
  return limit;
}

LayerWish one_run() { return {.memory = 2 * kGiB}; }
LayerWish lasting() { return {.lifetime = Lifetime::Long, .memory = 2 * kGiB}; }
LayerFacts capable() { return {.machine_memory = 16 * kGiB, .free_disk = 100 * kGiB}; }
LayerFacts without_pool() {
  LayerFacts facts = capable();
  facts.no_pool = "mkfs.btrfs is not installed";
  facts.no_pool_remedy = "install btrfs-progs";
  return facts;
}

TEST(ChooseLayer, OneRunIsInMemoryWithoutLookingAtTheMachine) {
  EXPECT_FALSE(needs_facts(one_run()));
  Result<LayerChoice> choice = choose_layer(one_run(), {});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Memory);
  EXPECT_EQ(choice->bytes, kDefaultMemoryLayer);
  EXPECT_EQ(choice->inodes, kDefaultMemoryLayer / (8 * kKiB));
  EXPECT_THAT(choice->warning, IsEmpty());
}

TEST(ChooseAgain, TheLayerStaysWhatItIs) {
  LayerWish wish = lasting();
  Result<LayerChoice> choice = choose_again(wish, LayerKind::Pool);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Pool);
  EXPECT_EQ(choice->bytes, kDefaultDisk);
  EXPECT_THAT(choice->warning, IsEmpty());
  wish.disk = named(kGiB);
  EXPECT_EQ(choose_again(wish, LayerKind::Pool)->bytes, kGiB);
}

TEST(ChooseAgain, AFolderHoldsNoNamedLimit) {
  LayerWish wish = lasting();
  Result<LayerChoice> choice = choose_again(wish, LayerKind::Folder);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Folder);
  EXPECT_THAT(choice->warning, HasSubstr("is not enforced"));
  wish.disk = named(kGiB);
  choice = choose_again(wish, LayerKind::Folder);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::Unsupported);
  wish = lasting();
  wish.strictness = Strictness::Strict;
  EXPECT_FALSE(choose_again(wish, LayerKind::Folder));
}

TEST(ChooseLayer, ANamedDiskThatFitsComfortablyIsInMemory) {
  LayerWish wish = one_run();
  wish.disk = named(kGiB);
  EXPECT_FALSE(needs_facts(wish));
  EXPECT_EQ(choose_layer(wish, {})->kind, LayerKind::Memory);
  wish.disk = named(64 * kKiB);
  EXPECT_EQ(choose_layer(wish, {})->inodes, 1024u);
}

TEST(ChooseLayer, ANamedDiskBeyondHalfOfTheMemoryIsInThePool) {
  LayerWish wish = one_run();
  wish.disk = named(kGiB + 1);
  EXPECT_TRUE(needs_facts(wish));
  Result<LayerChoice> choice = choose_layer(wish, capable());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Pool);
  EXPECT_EQ(choice->bytes, kGiB + 1);
}

TEST(ChooseLayer, WithoutAMemoryLimitTheMachinesMemoryCounts) {
  LayerWish wish = one_run();
  wish.memory = 0;
  wish.disk = named(8 * kGiB);
  EXPECT_EQ(choose_layer(wish, capable())->kind, LayerKind::Memory);
  wish.disk = named(9 * kGiB);
  EXPECT_EQ(choose_layer(wish, capable())->kind, LayerKind::Pool);
}

TEST(ChooseLayer, ANamedDiskWithoutAPoolIsRefusedWithWhatToDo) {
  LayerWish wish = one_run();
  wish.disk = named(5 * kGiB);
  Result<LayerChoice> choice = choose_layer(wish, without_pool());
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::Unsupported);
  EXPECT_THAT(choice.error().message(), HasSubstr("mkfs.btrfs is not installed"));
  EXPECT_THAT(choice.error().hint(), HasSubstr("install btrfs-progs"));
  EXPECT_THAT(choice.error().hint(), HasSubstr("10 GiB"));
}

TEST(ChooseLayer, ALastingLayerIsInThePool) {
  Result<LayerChoice> choice = choose_layer(lasting(), capable());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Pool);
  EXPECT_EQ(choice->bytes, kDefaultDisk);
  EXPECT_THAT(choice->warning, IsEmpty());
}

TEST(ChooseLayer, ALastingLayerWithoutAPoolIsAFolderWithAWarning) {
  Result<LayerChoice> choice = choose_layer(lasting(), without_pool());
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LayerKind::Folder);
  EXPECT_EQ(choice->bytes, kDefaultDisk);
  EXPECT_THAT(choice->warning, HasSubstr("is not enforced"));
}

TEST(ChooseLayer, StrictAndNamedLimitsNeedAPool) {
  LayerWish strict = lasting();
  strict.strictness = Strictness::Strict;
  EXPECT_FALSE(choose_layer(strict, without_pool()));
  LayerWish precise = lasting();
  precise.disk = named(kGiB);
  EXPECT_FALSE(choose_layer(precise, without_pool()));
}

TEST(ChooseLayer, MoreThanIsFreeIsRefused) {
  LayerWish wish = one_run();
  wish.disk = named(101 * kGiB);
  Result<LayerChoice> choice = choose_layer(wish, capable());
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::Exhausted);
}

TEST(ChooseLayer, InodesCanOnlyBeLimitedInMemory) {
  LayerWish wish = one_run();
  wish.inodes = named(5000);
  EXPECT_EQ(choose_layer(wish, {})->inodes, 5000u);
  wish.disk = named(5 * kGiB);
  EXPECT_FALSE(choose_layer(wish, capable()));
}

}  // namespace
}  // namespace cove
