#include "layer/pool_layer.h"

#include "base/text.h"

namespace cove {

PoolLayer::~PoolLayer() {
  if (!kept_) static_cast<void>(remove());
}

LayerMount PoolLayer::mount() const {
  LayerMount mount;
  mount.kind = LayerKind::Pool;
  mount.mount = mount_.get();
  return mount;
}

Result<uint64_t> PoolLayer::usage() const {
  if (!pool_) return fail(Code::NotFound, concat("layer ", id_, " has been removed"));
  uint64_t id = COVE_TRY(sys::btrfs::subvolume_id(folder_.get()));
  return COVE_TRY(sys::btrfs::quota_group(pool_->uuid_, id)).used;
}

std::string PoolLayer::usage_folder() const {
  if (!pool_) return {};
  Result<uint64_t> id = sys::btrfs::subvolume_id(folder_.get());
  return id ? sys::btrfs::quota_folder(pool_->uuid_, *id) : std::string();
}

Result<void> PoolLayer::remove() {
  if (!pool_) return {};
  std::shared_ptr<Pool> pool = std::move(pool_);
  mount_.reset();
  Result<void> removed = sys::btrfs::destroy_subvolume(pool->folder_of(lifetime_), id_);
  folder_.reset();
  // A child only cleans up for the process that opened the pool.
  if (pool->is_forked()) pool->close();
  if (removed || removed.error().code() == Code::NotFound) return {};
  return fail(std::move(removed.error()).note(concat("remove layer ", id_)));
}

}  // namespace cove
