#include "layer/choose.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

constexpr uint64_t kBytesPerInode = 8 * kKiB;
constexpr uint64_t kLeastInodes = 1024;

// Whether the limit leaves half of the sandbox's memory for its processes; true without a memory limit.
bool is_comfortable(uint64_t disk, uint64_t memory) { return memory > 0 && disk <= memory / 2; }

LayerChoice in_memory(const LayerWish& wish) {
  uint64_t bytes = wish.disk.value ? wish.disk.value : kDefaultMemoryLayer;
  uint64_t inodes = wish.inodes.value ? wish.inodes.value : std::max(kLeastInodes, bytes / kBytesPerInode);
  return {LayerKind::Memory, bytes, inodes, {}};
}

std::string larger_memory(const LayerWish& wish) {
  if (wish.lifetime == Lifetime::Long) return {};
  return concat(", or give it a memory limit of at least ", format_bytes(2 * wish.disk.value),
                ", half of which its files may fill");
}

Result<LayerChoice> without_pool(const LayerWish& wish, const LayerFacts& facts, uint64_t bytes) {
  if (wish.disk.named || wish.strictness == Strictness::Strict)
    return fail(Error(Code::Unsupported,
                      concat("limit disk to ", format_bytes(bytes), ": a pool is required, and ", facts.no_pool))
                    .hint(facts.no_pool_remedy + larger_memory(wish)));
  return LayerChoice{LayerKind::Folder, bytes, 0,
                     concat("the default disk limit (", format_bytes(bytes), ") is not enforced: ", facts.no_pool)};
}

}  // namespace

bool needs_facts(const LayerWish& wish) {
  if (wish.lifetime == Lifetime::Long) return true;
  return wish.disk.named && !is_comfortable(wish.disk.value, wish.memory);
}

Result<LayerChoice> choose_layer(const LayerWish& wish, const LayerFacts& facts) {
  if (!needs_facts(wish)) return in_memory(wish);
  uint64_t memory = wish.memory ? wish.memory : facts.machine_memory;
  if (wish.lifetime == Lifetime::OneRun && is_comfortable(wish.disk.value, memory)) return in_memory(wish);
  if (wish.inodes.named)
    return fail(
        Error(Code::Unsupported, concat("limit inodes to ", wish.inodes.value,
                                        ": only layers in memory support this, and this one does not fit there"))
            .hint("omit the inode limit: inodes count towards the disk limit"));
  uint64_t bytes = wish.disk.value ? wish.disk.value : kDefaultDisk;
  if (wish.disk.named && bytes > facts.free_disk)
    return fail(Code::Exhausted, concat("limit disk to ", format_bytes(bytes), ": only ", format_bytes(facts.free_disk),
                                        " are free on this machine's disk"));
  if (!facts.no_pool.empty()) return without_pool(wish, facts, bytes);
  return LayerChoice{LayerKind::Pool, bytes, 0, {}};
}

Result<LayerChoice> choose_again(const LayerWish& wish, LayerKind existing) {
  const uint64_t bytes = wish.disk.value ? wish.disk.value : kDefaultDisk;
  if (existing != LayerKind::Folder) return LayerChoice{existing, bytes, 0, {}};
  constexpr std::string_view kWhy = "its files are in a plain folder, which has no quota";
  if ((wish.disk.named && wish.disk.value > 0) || wish.strictness == Strictness::Strict)
    return fail(
        Error(Code::Unsupported, concat("limit disk to ", format_bytes(bytes), ": ", kWhy))
            .hint("create another sandbox with this limit, with Cove running as root and btrfs-progs installed"));
  return LayerChoice{existing, bytes, 0,
                     concat("the default disk limit (", format_bytes(bytes), ") is not enforced: ", kWhy)};
}

}  // namespace cove
