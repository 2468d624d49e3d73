#include "layer/pool.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "layer/pool_image.h"
#include "layer/pool_layer.h"
#include "layer/pool_size.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

namespace btrfs = sys::btrfs;

constexpr uint64_t kAttributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME;
constexpr const char* kRun = "run";
constexpr const char* kLong = "long";
// On a kept layer: its limit, of which it may have been granted less so far.
constexpr const char* kLimitName = "trusted.cove.limit";

// The bytes of pool.lock that are locked: one by whoever changes the pool, the other, shared, by all who have it open.
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

Result<void> write_limit(int layer, uint64_t bytes) {
  std::string text = std::to_string(bytes);
  if (::fsetxattr(layer, kLimitName, text.data(), text.size(), 0) < 0) return fail_errno("note the layer's limit");
  return {};
}

Result<uint64_t> read_limit(int layer) {
  char text[24];
  ssize_t size = ::fgetxattr(layer, kLimitName, text, sizeof text);
  if (size < 0) return fail_errno("read the layer's limit");
  std::string_view digits(text, static_cast<size_t>(size));
  return static_cast<uint64_t>(COVE_TRY(parse_integer(digits, 0, INT64_MAX)));
}

}  // namespace

// Held while the pool is changed.
class Pool::Lock {
 public:
  explicit Lock(const Pool& pool) : file_(pool.lock_.get()) { lock_byte(file_, Byte::Change, F_WRLCK, Wait::Yes); }
  ~Lock() { lock_byte(file_, Byte::Change, F_UNLCK, Wait::No); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

Result<std::shared_ptr<Pool>> Pool::open(const std::string& state, uint64_t room) {
  if (!sys::exists(state)) COVE_TRY_NOTE("make the state folder", sys::make_folders(state));
  COVE_TRY(sys::stat_own_folder(state, sys::kStateFolder));
  std::shared_ptr<Pool> pool(new Pool());
  pool->state_ = COVE_TRY(sys::open(state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  pool->lock_ = COVE_TRY(sys::openat(pool->state_.get(), "pool.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  Lock lock(*pool);
  if (!lock_byte(pool->lock_.get(), Byte::Use, F_RDLCK, Wait::Yes)) return fail_errno("lock the pool");
  Result<UniqueFd> image = open_pool_image(pool->state_.get());
  bool made = !image && image.error().code() == Code::NotFound;
  if (made) image = make_pool_image(pool->state_.get(), image_size(room + kLayerSlack));
  pool->image_ = COVE_TRY_NOTE("make the pool", std::move(image));
  COVE_TRY_NOTE(concat("open the pool ", state, "/pool.img"), pool->attach());
  if (made) COVE_TRY(name_pool_image(pool->state_.get(), pool->image_.get()));
  pool->sweep();
  return pool;
}

Result<void> Pool::attach() {
  std::optional<sys::LoopDevice> device = COVE_TRY(sys::find_loop(image_.get()));
  device_ = device ? std::move(*device) : COVE_TRY(sys::attach_loop(image_.get()));
  // The descriptor of a mount is only good for lookups; the mount itself stays for as long as a file in it is open.
  root_ = COVE_TRY(open_folder(COVE_TRY(mount("/")).get(), "."));
  run_ = COVE_TRY(make_folder(root_.get(), kRun));
  long_ = COVE_TRY(make_folder(root_.get(), kLong));
  uuid_ = COVE_TRY(btrfs::uuid(root_.get()));
  return btrfs::enable_quota(root_.get());
}

// Each call makes a mount of its own of the one file system.
Result<UniqueFd> Pool::mount(const std::string& subvolume) const {
  // No discards: they would give the image's blocks back.
  return sys::make_mount("btrfs", {{"source", device_.path}, {"subvol", subvolume}, {"nodiscard", ""}}, kAttributes);
}

// What killed processes left.
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
  Lock lock(*this);
  Result<std::vector<PoolEntry>> layers = list();
  bool alone = lock_byte(lock_.get(), Byte::Use, F_WRLCK, Wait::No);
  if (layers && layers->empty() && alone) remove_pool_image(state_.get());
  // The file system goes before others may look for it.
  for (UniqueFd* fd : {&run_, &long_, &root_, &device_.fd, &image_}) fd->reset();
}

Result<std::vector<PoolEntry>> Pool::list() const {
  std::vector<PoolEntry> entries;
  for (Lifetime lifetime : {Lifetime::OneRun, Lifetime::Long})
    for (const std::string& id : COVE_TRY(sys::list_folder(folder_of(lifetime)))) entries.push_back({id, lifetime});
  return entries;
}

Result<uint64_t> Pool::granted() const {
  uint64_t sum = 0;
  for (const PoolEntry& entry : COVE_TRY(list())) {
    UniqueFd layer = COVE_TRY(open_folder(folder_of(entry.lifetime), entry.id));
    sum += COVE_TRY(btrfs::quota_group(uuid_, COVE_TRY(btrfs::subvolume_id(layer.get())))).limit;
  }
  return sum;
}

Result<void> Pool::make_room(uint64_t granted) {
  uint64_t wanted = image_size(granted);
  if (wanted <= COVE_TRY(btrfs::size(root_.get()))) return {};
  COVE_TRY(grow_pool_image(image_.get(), wanted));
  COVE_TRY(sys::refresh_loop_size(device_));
  return btrfs::resize(root_.get(), wanted);
}

Result<std::unique_ptr<Layer>> Pool::create(const std::string& id, Lifetime lifetime, uint64_t bytes) {
  Lock lock(*this);
  uint64_t grant = lifetime == Lifetime::OneRun ? bytes : std::min(bytes, kGrantStep);
  COVE_TRY_NOTE("make room in the pool", make_room(COVE_TRY(granted()) + grant + kLayerSlack));
  COVE_TRY(btrfs::create_subvolume(folder_of(lifetime), id));
  Result<std::unique_ptr<Layer>> layer = open_layer(id, lifetime);
  if (!layer) static_cast<void>(btrfs::destroy_subvolume(folder_of(lifetime), id));
  if (!layer) return layer;
  // A layer that cannot be limited removes itself.
  UniqueFd folder = COVE_TRY(open_folder(folder_of(lifetime), id));
  COVE_TRY(btrfs::limit_quota(root_.get(), COVE_TRY(btrfs::subvolume_id(folder.get())), grant + kLayerSlack));
  if (lifetime == Lifetime::Long) COVE_TRY(write_limit(folder.get(), bytes));
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
  Lock lock(*this);
  UniqueFd source = COVE_TRY(open_folder(long_.get(), from));
  uint64_t limit = COVE_TRY(btrfs::quota_group(uuid_, COVE_TRY(btrfs::subvolume_id(source.get())))).limit;
  COVE_TRY_NOTE("make room in the pool", make_room(COVE_TRY(granted()) + limit));
  COVE_TRY(btrfs::create_snapshot(source.get(), long_.get(), id, writes));
  UniqueFd copy = COVE_TRY(open_folder(long_.get(), id));
  return btrfs::limit_quota(root_.get(), COVE_TRY(btrfs::subvolume_id(copy.get())), limit);
}

Result<void> Pool::freeze(const std::string& id) {
  Lock lock(*this);
  UniqueFd layer = COVE_TRY(open_folder(long_.get(), id));
  COVE_TRY(btrfs::set_writes(layer.get(), btrfs::Writes::Refused));
  if (::syncfs(layer.get()) < 0) return fail_errno("sync the pool");
  uint64_t subvolume = COVE_TRY(btrfs::subvolume_id(layer.get()));
  uint64_t used = COVE_TRY(btrfs::quota_group(uuid_, subvolume)).used;
  return btrfs::limit_quota(root_.get(), subvolume, used + kLayerSlack);
}

Result<void> Pool::remove(const std::string& id) { return btrfs::destroy_subvolume(long_.get(), id); }

Result<void> Pool::tend() {
  Lock lock(*this);
  for (const std::string& id : COVE_TRY(sys::list_folder(long_.get())))
    COVE_TRY_NOTE(concat("grant layer ", id, " more"), tend_layer(id));
  return {};
}

Result<void> Pool::tend_layer(const std::string& id) {
  UniqueFd layer = COVE_TRY(open_folder(long_.get(), id));
  uint64_t subvolume = COVE_TRY(btrfs::subvolume_id(layer.get()));
  btrfs::QuotaGroup group = COVE_TRY(btrfs::quota_group(uuid_, subvolume));
  uint64_t limit = COVE_TRY(read_limit(layer.get())) + kLayerSlack;
  uint64_t grant = next_grant(group.used, group.limit, limit);
  if (grant == group.limit) return {};
  COVE_TRY(make_room(COVE_TRY(granted()) - group.limit + grant));
  return btrfs::limit_quota(root_.get(), subvolume, grant);
}

}  // namespace cove
