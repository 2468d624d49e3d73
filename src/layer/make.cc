#include "layer/make.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/text.h"
#include "layer/folder_layer.h"
#include "layer/pool.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/probe.h"

namespace cove {
namespace {

// The builder mounts the tmpfs itself, so there is nothing to own.
class MemoryLayer : public Layer {
 public:
  explicit MemoryLayer(const LayerChoice& choice) {
    mount_.bytes = choice.bytes;
    mount_.inodes = choice.inodes;
  }
  LayerMount mount() const override { return mount_; }
  Result<uint64_t> usage() const override { return fail(Code::Unsupported, "a layer in memory is measured inside"); }
  Result<void> remove() override { return {}; }
  void keep() override {}

 private:
  LayerMount mount_;
};

uint64_t machine_memory() {
  struct sysinfo info;
  return ::sysinfo(&info) == 0 ? static_cast<uint64_t>(info.totalram) * info.mem_unit : 0;
}

// For the file system that contains or will contain the folder.
uint64_t free_disk(std::string folder) {
  struct statvfs info;
  while (::statvfs(folder.c_str(), &info) < 0) {
    if (folder.size() <= 1) return 0;
    folder.resize(std::max<size_t>(1, folder.rfind('/')));
  }
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

void find_pool(LayerFacts& facts) {
  if (::geteuid() != 0) {
    facts.no_pool = "only root can create one";
    facts.no_pool_remedy = "run it as root";
  } else if (sys::find_program("mkfs.btrfs").empty()) {
    facts.no_pool = "mkfs.btrfs is not installed";
    facts.no_pool_remedy = "install btrfs-progs";
  } else if (!sys::can_make_mounts_of("btrfs")) {
    facts.no_pool = "this kernel has no btrfs";
    facts.no_pool_remedy = "`modprobe btrfs`";
  } else if (!sys::can_use_device("/dev/loop-control")) {
    facts.no_pool = "loop devices are not available";
    facts.no_pool_remedy = "`modprobe loop`";
  }
}

// An id is used as the name of a folder and must not clash with other names.
Result<void> check_id(const std::string& id) {
  bool plain = !id.empty() && id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
  return plain ? Result<void>() : fail(Code::Invalid, concat("'", id, "' cannot be the id of a layer"));
}

}  // namespace

LayerFacts measure_layer_facts(const std::string& state) {
  LayerFacts facts;
  facts.machine_memory = machine_memory();
  facts.free_disk = free_disk(state);
  return facts;
}

LayerFacts find_layer_facts(const std::string& state) {
  LayerFacts facts = measure_layer_facts(state);
  find_pool(facts);
  return facts;
}

Result<bool> Layers::find_pool() {
  if (!pool_ && (::geteuid() != 0 || !sys::exists(state_ + "/pool.img"))) return false;
  if (!pool_) pool_ = COVE_TRY(Pool::open(state_, {}));
  return true;
}

Result<std::unique_ptr<Layer>> Layers::make(const LayerChoice& choice, const std::string& id, Lifetime lifetime) {
  COVE_TRY(check_id(id));
  switch (choice.kind) {
    case LayerKind::Memory:
      return std::make_unique<MemoryLayer>(choice);
    case LayerKind::Folder:
      return COVE_TRY(FolderLayer::create(state_, id, lifetime));
    case LayerKind::Pool:
      break;
  }
  if (!pool_) pool_ = COVE_TRY(Pool::open(state_, {lifetime, choice.bytes}));
  return pool_->create(id, lifetime, choice.bytes);
}

Result<std::unique_ptr<Layer>> Layers::find(const std::string& id) {
  COVE_TRY(check_id(id));
  if (COVE_TRY(find_pool())) {
    Result<std::unique_ptr<Layer>> layer = pool_->find(id);
    if (layer || layer.error().code() != Code::NotFound) return layer;
  }
  return COVE_TRY(FolderLayer::find(state_, id));
}

Result<void> Layers::limit(const std::string& id, uint64_t bytes) {
  COVE_TRY(check_id(id));
  if (!COVE_TRY(find_pool())) return fail(Code::NotFound, concat("layer ", id, " is not in a pool"));
  return pool_->change_limit(id, bytes);
}

Result<std::vector<std::string>> Layers::list_long() {
  std::vector<std::string> ids = COVE_TRY(FolderLayer::list(state_));
  if (!COVE_TRY(find_pool())) return ids;
  for (PoolEntry& entry : COVE_TRY(pool_->list()))
    if (entry.lifetime == Lifetime::Long) ids.push_back(std::move(entry.id));
  return ids;
}

Result<void> Layers::remove(const std::string& id) {
  COVE_TRY(check_id(id));
  if (COVE_TRY(find_pool())) {
    Result<void> removed = pool_->remove(id);
    if (removed || removed.error().code() != Code::NotFound) return removed;
  }
  return COVE_TRY(FolderLayer::find(state_, id))->remove();
}

Result<void> Layers::maintain() { return pool_ ? pool_->maintain() : Result<void>(); }

Result<std::unique_ptr<Layer>> make_layer(const LayerChoice& choice, const std::string& state, const std::string& id,
                                          Lifetime lifetime) {
  return Layers(state).make(choice, id, lifetime);
}

Result<std::unique_ptr<Layer>> find_layer(const std::string& state, const std::string& id) {
  return Layers(state).find(id);
}

}  // namespace cove
