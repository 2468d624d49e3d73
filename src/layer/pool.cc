#include "layer/pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "layer/pool_image.h"
#include "layer/pool_layer.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

namespace btrfs = sys::btrfs;

constexpr uint64_t kAttributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME;
constexpr const char* kLockFile = "pool.lock";
constexpr const char* kRun = "run";
constexpr const char* kLong = "long";
// With more long-lived layers than this, their remaining room is not summed up: the full reserve is kept.
constexpr size_t kFewLayers = 8;
// A pool that stays open is swept after this many new layers, because a sweep examines all layers.
constexpr uint64_t kSweepEvery = 1000;
// How long a measurement of the remaining room is valid: the interval of maintain().
constexpr std::chrono::milliseconds kLookHolds(200);

// The bytes of pool.lock: one is locked to change the pool, the other, shared, by all processes that have it open.
enum class Byte : off_t { Change = 0, Use = 1 };
enum class Wait { Yes, No };

bool lock_byte(int file, Byte byte, short type, Wait wait) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  int status;
  do {
    status = ::fcntl(file, wait == Wait::Yes ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (status < 0 && errno == EINTR);
  return status == 0;
}

Result<UniqueFd> open_folder(int parent, const std::string& name) {
  return sys::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<UniqueFd> make_folder(int parent, const std::string& name) {
  Result<void> made = sys::mkdirat(parent, name, 0700);
  if (!made && made.error().code() != Code::Exists) return std::unexpected(made.error());
  return open_folder(parent, name);
}

bool take(int layer) { return ::flock(layer, LOCK_EX | LOCK_NB) == 0; }

Result<uint64_t> disk_size(int folder) {
  struct statvfs disk;
  if (::fstatvfs(folder, &disk) < 0) return fail_errno("statvfs of the state folder");
  return disk.f_blocks * disk.f_frsize;
}

// Lists up to `most` names without reading the others.
Result<std::vector<std::string>> list_some(int folder, size_t most) {
  UniqueFd own = COVE_TRY(open_folder(folder, "."));
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return fail_errno("list the pool's layers");
  static_cast<void>(own.release());
  std::vector<std::string> names;
  while (dirent* entry = names.size() < most ? ::readdir(stream.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

// Locks the pool while it is changed.
class Pool::Lock {
 public:
  explicit Lock(const UniqueFd& file) : file_(file.get()) { lock_byte(file_, Byte::Change, F_WRLCK, Wait::Yes); }
  ~Lock() { lock_byte(file_, Byte::Change, F_UNLCK, Wait::No); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

Result<std::shared_ptr<Pool>> Pool::open(const std::string& state, LayerRoom first, uint64_t most_reserve) {
  if (!sys::exists(state)) COVE_TRY_NOTE("create the state folder", sys::make_folders(state));
  COVE_TRY(sys::stat_own_folder(state, sys::kStateFolder));
  std::shared_ptr<Pool> pool(new Pool());
  pool->state_ = COVE_TRY(sys::open(state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  pool->reserve_ = pool_reserve(COVE_TRY(disk_size(pool->state_.get())), most_reserve);
  pool->lock_ = COVE_TRY(sys::openat(pool->state_.get(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  Lock lock(pool->lock_);
  if (!lock_byte(pool->lock_.get(), Byte::Use, F_RDLCK, Wait::Yes)) return fail_errno("lock the pool");
  Result<UniqueFd> image = open_pool_image(pool->state_.get());
  bool made = !image && image.error().code() == Code::NotFound;
  uint64_t room = first.lifetime == Lifetime::OneRun ? first.bytes : std::min(first.bytes, pool->reserve_);
  if (made) image = make_pool_image(pool->state_.get(), image_size(room + kLayerSlack));
  pool->image_ = COVE_TRY_NOTE("create the pool", std::move(image));
  COVE_TRY_NOTE(concat("open the pool ", state, "/pool.img"), pool->attach());
  if (made) COVE_TRY_NOTE("create the pool", enlarge_metadata(pool->root_.get()));
  if (made) COVE_TRY(name_pool_image(pool->state_.get(), pool->image_.get()));
  pool->sweep();
  return pool;
}

Result<void> Pool::attach() {
  std::optional<sys::LoopDevice> device = COVE_TRY(sys::find_loop(image_.get()));
  device_ = device ? std::move(*device) : COVE_TRY(sys::attach_loop(image_.get()));
  // The descriptor of a mount supports only lookups; the mount exists as long as a file in it is open.
  root_ = COVE_TRY(open_folder(COVE_TRY(mount("/")).get(), "."));
  run_ = COVE_TRY(make_folder(root_.get(), kRun));
  long_ = COVE_TRY(make_folder(root_.get(), kLong));
  uuid_ = COVE_TRY(btrfs::uuid(root_.get()));
  return btrfs::enable_quota(root_.get());
}

// Each call creates a separate mount of the same file system.
Result<UniqueFd> Pool::mount(const std::string& subvolume) const {
  // No discards: they would free the image's blocks.
  return sys::make_mount("btrfs", {{"source", device_.path}, {"subvol", subvolume}, {"nodiscard", ""}}, kAttributes);
}

// Removes leftovers of killed processes.
void Pool::sweep() {
  for (const std::string& id : sys::list_folder(run_.get()).value_or(std::vector<std::string>())) {
    Result<UniqueFd> layer = open_folder(run_.get(), id);
    if (layer && take(layer->get())) static_cast<void>(btrfs::destroy_subvolume(run_.get(), id));
  }
  btrfs::remove_stale_quota_groups(root_.get(), uuid_);
}

Pool::~Pool() {
  if (lock_) close();
}

void Pool::close() {
  UniqueFd own = std::move(lock_);
  UniqueFd parents;
  if (is_forked()) {
    // The parent shares this lock, so another one is used to check for other users.
    parents = std::move(own);
    own = sys::openat(state_.get(), kLockFile, O_RDWR | O_NOFOLLOW).value_or(UniqueFd());
  }
  Lock lock(own);
  parents.reset();
  bool alone = lock_byte(own.get(), Byte::Use, F_WRLCK, Wait::No);
  Result<std::vector<PoolEntry>> layers = list();
  if (layers && layers->empty() && alone) remove_pool_image(state_.get());
  // Unmounts the file system before the lock is released.
  for (UniqueFd* fd : {&run_, &long_, &root_, &device_.fd, &image_}) fd->reset();
  // Unlocked explicitly, because a child may still have the lock file open.
  lock_byte(own.get(), Byte::Use, F_UNLCK, Wait::No);
}

Result<std::vector<PoolEntry>> Pool::list() const {
  std::vector<PoolEntry> entries;
  for (Lifetime lifetime : {Lifetime::OneRun, Lifetime::Long})
    for (const std::string& id : COVE_TRY(sys::list_folder(folder_of(lifetime)))) entries.push_back({id, lifetime});
  return entries;
}

// The remaining room of a layer; 0 if it was just removed.
Result<uint64_t> Pool::unused(Lifetime lifetime, const std::string& id) const {
  auto measure = [&]() -> Result<uint64_t> {
    UniqueFd layer = COVE_TRY(open_folder(folder_of(lifetime), id));
    btrfs::QuotaGroup group = COVE_TRY(btrfs::quota_group(uuid_, COVE_TRY(btrfs::subvolume_id(layer.get()))));
    return group.limit - std::min(group.limit, group.used);
  };
  Result<uint64_t> bytes = measure();
  bool gone = !bytes && (bytes.error().code() == Code::NotFound || bytes.error().errnum() == ENODEV);
  return gone ? 0 : bytes;
}

Result<uint64_t> Pool::unused_by_runs() const {
  uint64_t sum = 0;
  for (const std::string& id : COVE_TRY(sys::list_folder(run_.get()))) sum += COVE_TRY(unused(Lifetime::OneRun, id));
  return sum;
}

Result<uint64_t> Pool::unused_by_long() const {
  std::vector<std::string> ids = COVE_TRY(list_some(long_.get(), kFewLayers + 1));
  if (ids.size() > kFewLayers) return reserve_;
  uint64_t sum = 0;
  for (const std::string& id : ids) sum += COVE_TRY(unused(Lifetime::Long, id));
  return sum;
}

Result<void> Pool::make_room(LayerRoom more) {
  uint64_t runs = COVE_TRY(unused_by_runs());
  uint64_t others = COVE_TRY(unused_by_long());
  (more.lifetime == Lifetime::OneRun ? runs : others) += more.bytes;
  PoolSpace space = COVE_TRY(measure_pool_space(root_.get(), uuid_));
  uint64_t missing = missing_bytes(space, runs + std::min(reserve_, others));
  if (missing > 0) COVE_TRY(grow(space.size, missing));
  if (others >= reserve_) roomy_until_ = std::chrono::steady_clock::now() + kLookHolds;
  return {};
}

bool Pool::has_room_for(LayerRoom more) const {
  return more.lifetime == Lifetime::Long && std::chrono::steady_clock::now() < roomy_until_;
}

Result<void> Pool::grow(uint64_t size, uint64_t more) {
  uint64_t wanted = size + round_up(more, kGrowStep);
  Result<void> grown = grow_pool_image(image_.get(), wanted);
  if (!grown && grown.error().code() == Code::Exhausted) {
    wanted = size + round_up(more, kLeastStep);
    grown = grow_pool_image(image_.get(), wanted);
  }
  COVE_TRY(grown);
  COVE_TRY(sys::refresh_loop_size(device_));
  return btrfs::resize(root_.get(), wanted);
}

Result<bool> Pool::shrink(Spare spare) {
  const uint64_t room = COVE_TRY(unused_by_runs()) + std::min(reserve_, COVE_TRY(unused_by_long()));
  const PoolSpace space = COVE_TRY(measure_pool_space(root_.get(), uuid_));
  const uint64_t wanted = shrunk_size(space, room);
  if (wanted >= space.size) return false;
  if (spare == Spare::Kept) return true;
  COVE_TRY(btrfs::resize(root_.get(), wanted));
  COVE_TRY(shorten_pool_image(image_.get(), wanted));
  COVE_TRY(sys::refresh_loop_size(device_));
  return true;
}

Result<void> Pool::limit(Lifetime lifetime, const std::string& id, uint64_t bytes) {
  UniqueFd layer = COVE_TRY(open_folder(folder_of(lifetime), id));
  return btrfs::limit_quota(root_.get(), COVE_TRY(btrfs::subvolume_id(layer.get())), bytes);
}

Result<std::unique_ptr<Layer>> Pool::create(const std::string& id, Lifetime lifetime, uint64_t bytes) {
  Lock lock(lock_);
  if (++created_ % kSweepEvery == 0) sweep();
  LayerRoom room = {lifetime, bytes + kLayerSlack};
  if (!has_room_for(room)) COVE_TRY_NOTE("make room in the pool", make_room(room));
  COVE_TRY(btrfs::create_subvolume(folder_of(lifetime), id));
  Result<void> limited = limit(lifetime, id, bytes + kLayerSlack);
  Result<std::unique_ptr<Layer>> layer = limited ? open_layer(id, lifetime) : fail(std::move(limited.error()));
  if (!layer) static_cast<void>(btrfs::destroy_subvolume(folder_of(lifetime), id));
  return layer;
}

Result<std::unique_ptr<Layer>> Pool::open_layer(const std::string& id, Lifetime lifetime) {
  UniqueFd folder = COVE_TRY_NOTE(concat("open layer ", id), open_folder(folder_of(lifetime), id));
  if (lifetime == Lifetime::OneRun && !take(folder.get())) return fail_errno(concat("lock layer ", id));
  UniqueFd own = COVE_TRY(mount(concat("/", std::string_view(lifetime == Lifetime::OneRun ? kRun : kLong), "/", id)));
  return std::make_unique<PoolLayer>(shared_from_this(), lifetime, id, std::move(folder), std::move(own));
}

Result<std::unique_ptr<Layer>> Pool::find(const std::string& id) {
  std::unique_ptr<Layer> layer = COVE_TRY(open_layer(id, Lifetime::Long));
  layer->keep();
  return layer;
}

Result<void> Pool::fork(const std::string& from, const std::string& id, btrfs::Writes writes) {
  Lock lock(lock_);
  UniqueFd source = COVE_TRY_NOTE(concat("open layer ", from), open_folder(long_.get(), from));
  uint64_t bytes = COVE_TRY(btrfs::quota_group(uuid_, COVE_TRY(btrfs::subvolume_id(source.get())))).limit;
  COVE_TRY_NOTE("make room in the pool", make_room({Lifetime::Long, bytes}));
  COVE_TRY(btrfs::create_snapshot(source.get(), long_.get(), id, writes));
  Result<void> limited = limit(Lifetime::Long, id, bytes);
  if (!limited) static_cast<void>(btrfs::destroy_subvolume(long_.get(), id));
  return limited;
}

Result<void> Pool::change_limit(const std::string& id, uint64_t bytes) {
  Lock lock(lock_);
  UniqueFd layer = COVE_TRY_NOTE(concat("open layer ", id), open_folder(long_.get(), id));
  const btrfs::QuotaGroup now = COVE_TRY(btrfs::quota_group(uuid_, COVE_TRY(btrfs::subvolume_id(layer.get()))));
  const uint64_t wanted = bytes + kLayerSlack;
  if (now.limit == wanted) return {};
  if (now.used > wanted)
    return fail(Error(Code::Conflict,
                      concat("limit disk to ", format_bytes(bytes), ": its files take up ", format_bytes(now.used)))
                    .hint("choose a larger limit, or remove files first"));
  if (wanted > now.limit) COVE_TRY_NOTE("make room in the pool", make_room({Lifetime::Long, wanted - now.limit}));
  return limit(Lifetime::Long, id, wanted);
}

Result<void> Pool::freeze(const std::string& id) {
  UniqueFd layer = COVE_TRY_NOTE(concat("open layer ", id), open_folder(long_.get(), id));
  return btrfs::set_writes(layer.get(), btrfs::Writes::Refused);
}

Result<void> Pool::remove(const std::string& id) { return btrfs::destroy_subvolume(long_.get(), id); }

Result<void> Pool::maintain(std::chrono::steady_clock::time_point now) {
  Lock lock(lock_);
  COVE_TRY_NOTE("grow the pool", make_room({}));
  // Consecutive runs reuse the room, so it is not released immediately.
  if (now < next_look_) return {};
  next_look_ = now + kSpareHolds;
  had_spare_ = COVE_TRY_NOTE("shrink the pool", shrink(had_spare_ ? Spare::GivenBack : Spare::Kept));
  return {};
}

}  // namespace cove
