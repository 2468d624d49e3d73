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

// A tmpfs is made by whoever mounts it: there is nothing to own.
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

// Of the file system that the folder lies on, or will.
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
    facts.no_pool = "only root can make one";
    facts.no_pool_remedy = "run it as root";
  } else if (sys::find_program("mkfs.btrfs").empty()) {
    facts.no_pool = "mkfs.btrfs is not installed";
    facts.no_pool_remedy = "install btrfs-progs";
  } else if (!sys::can_make_mounts_of("btrfs")) {
    facts.no_pool = "this kernel has no btrfs";
    facts.no_pool_remedy = "`modprobe btrfs`";
  } else if (!sys::can_use_device("/dev/loop-control")) {
    facts.no_pool = "there are no loop devices";
    facts.no_pool_remedy = "`modprobe loop`";
  }
}

}  // namespace

LayerFacts find_layer_facts(const std::string& state) {
  LayerFacts facts;
  facts.machine_memory = machine_memory();
  facts.free_disk = free_disk(state);
  find_pool(facts);
  return facts;
}

Result<std::unique_ptr<Layer>> make_layer(const LayerChoice& choice, const std::string& state, const std::string& id,
                                          Lifetime lifetime) {
  switch (choice.kind) {
    case LayerKind::Memory:
      return std::make_unique<MemoryLayer>(choice);
    case LayerKind::Folder:
      return COVE_TRY(FolderLayer::create(state, id, lifetime));
    case LayerKind::Pool:
      break;
  }
  std::shared_ptr<Pool> pool = COVE_TRY(Pool::open(state, choice.bytes));
  return pool->create(id, lifetime, choice.bytes);
}

Result<std::unique_ptr<Layer>> find_layer(const std::string& state, const std::string& id) {
  if (::geteuid() == 0 && sys::exists(state + "/pool.img")) {
    std::shared_ptr<Pool> pool = COVE_TRY(Pool::open(state, 0));
    Result<std::unique_ptr<Layer>> layer = pool->find(id);
    if (layer || layer.error().code() != Code::NotFound) return layer;
  }
  return COVE_TRY(FolderLayer::find(state, id));
}

}  // namespace cove
