#include "floor.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "api_server.h"
#include "layer/pool.h"
#include "runtime/native/proc_masks.h"
#include "sys/btrfs.h"
#include "sys/cgroup.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove::bench {
namespace {

using sys::Controller;
using Clock = std::chrono::steady_clock;

constexpr int kNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr const char* kRoot = "/tmp";
constexpr uint32_t kFirstId = 1'000'000;
constexpr uint64_t kLayerBytes = 10 * kGiB;  // as a server's sandboxes have it

// In the child: says so and ends it, without what the parent has to do at its own end.
void must(int status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "bench: %s: %m\n", what);
  ::_exit(1);
}

void make_folder(const std::string& path) { must(::mkdir(path.c_str(), 0755), path.c_str()); }

void mount_new(const char* type, const std::string& at, const char* options = "") {
  must(::mount(type, at.c_str(), type, MS_NOSUID | MS_NODEV, options), type);
}

void bind(const std::string& source, const std::string& at) {
  must(::mount(source.c_str(), at.c_str(), "", MS_BIND, ""), at.c_str());
}

// What is below is read-only; what is above takes the writes.
void mount_layer(const std::string& root, const std::string& lowers, const std::string& name, const std::string& at) {
  make_folder(root + "/" + name + ".upper");
  make_folder(root + "/" + name + ".work");
  std::string layers = "lowerdir=" + lowers + ",upperdir=" + root + "/" + name + ".upper,workdir=" + root + "/" + name +
                       ".work,volatile,userxattr";
  mount_new("overlay", at, layers.c_str());
}

// For what this kernel has.
void cover(const std::string& source, const std::string& at) {
  if (::access(at.c_str(), F_OK) == 0) bind(source, at);
}

// What is in /opt is shown entry by entry.
void bind_entries(const std::string& from, const std::string& at) {
  if (!std::filesystem::is_directory(from)) return;
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string place = at + "/" + entry.path().filename().string();
    if (!entry.is_directory()) continue;
    make_folder(place);
    bind(entry.path(), place);
  }
}

// As many mounts as the native runtime makes of the host image, and of the same kinds: copies of what lies below, and
// of the layer; an overlay for the root and one for /usr, which lies on a read-only one; /dev and what is in /opt,
// shown by a bind mount each; the small file systems that programs expect; and the covers over /proc.
// `layer` is where the writable layer lies; empty: in memory.
void build_root(const std::string& layer) {
  const std::string stage = kRoot, root = stage + "/root";
  must(::mount("", "/", "", MS_REC | MS_PRIVATE, ""), "make the mounts private");
  mount_new("tmpfs", stage, "size=1m,mode=755");
  for (const char* name : {"/root", "/skeleton", "/over", "/shield", "/devices", "/devices/pts", "/devices/shm",
                           "/layer", "/l0", "/l1", "/l2"})
    make_folder(stage + name);
  for (const char* name : {"/usr", "/proc", "/dev", "/opt", "/old"}) make_folder(stage + "/skeleton" + name);
  for (const char* name : {"bin", "lib", "lib64"})
    must(::symlink((std::string("usr/") + name).c_str(), (stage + "/skeleton/" + name).c_str()), name);
  for (auto [source, name] :
       {std::pair{layer.empty() ? stage + "/layer" : layer, "/layer"}, std::pair{stage + "/skeleton", "/l0"},
        std::pair{stage + "/over", "/l1"}, std::pair{std::string("/usr"), "/l2"}})
    bind(source, stage + name);
  mount_layer(stage + "/layer", stage + "/l0", "root", root);
  mount_new("overlay", stage + "/shield", ("lowerdir=" + stage + "/l1:" + stage + "/l2,userxattr").c_str());
  mount_layer(stage + "/layer", stage + "/shield", "usr", root + "/usr");
  bind_entries("/opt", root + "/opt");
  bind(stage + "/devices", root + "/dev");
  mount_new("devpts", root + "/dev/pts", "newinstance,ptmxmode=0666");
  mount_new("tmpfs", root + "/dev/shm", "size=64m");
  mount_new("proc", root + "/proc");
  for (const char* name : native::kReadOnlyProc) cover(root + "/proc/" + name, root + "/proc/" + name);
  for (const char* name : native::kMaskedProcFiles) cover("/dev/null", root + "/proc/" + name);
  for (const char* name : native::kMaskedProcFolders) cover(stage + "/devices/shm", root + "/proc/" + name);
  must(static_cast<int>(::syscall(SYS_pivot_root, root.c_str(), (root + "/old").c_str())), "pivot_root");
  must(::chdir("/"), "chdir");
  must(::umount2("/old", MNT_DETACH), "umount");
}

[[noreturn]] void become_sandbox(int mapped, const std::vector<UniqueFd>& joins, const std::string& layer) {
  char byte;
  if (::read(mapped, &byte, 1) != 1) ::_exit(1);
  must(::setgroups(0, nullptr), "setgroups");
  must(::setresgid(0, 0, 0), "setresgid");
  must(::setresuid(0, 0, 0), "setresuid");
  for (const UniqueFd& join : joins) must(static_cast<int>(::write(join.get(), "0", 1)), "join the control group");
  build_root(layer);
  ::execl("/usr/bin/true", "true", nullptr);
  ::_exit(127);
}

// A subvolume of the pool, for as long as this lives.
class BareLayer {
 public:
  BareLayer(int parent, std::string name) : parent_(parent), name_(std::move(name)) {
    if (!sys::btrfs::create_subvolume(parent_, name_)) give_up("create a subvolume");
    UniqueFd folder(::openat(parent_, name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    auto id = sys::btrfs::subvolume_id(folder.get());
    if (!id || !sys::btrfs::limit_quota(parent_, *id, kLayerBytes)) give_up("limit a subvolume");
    if (::fchown(folder.get(), kFirstId, kFirstId) < 0) give_up("give a subvolume away");
  }
  ~BareLayer() {
    if (!sys::btrfs::destroy_subvolume(parent_, name_)) give_up("destroy a subvolume");
  }
  BareLayer(const BareLayer&) = delete;
  BareLayer& operator=(const BareLayer&) = delete;

 private:
  int parent_;
  std::string name_;
};

// `name` is of [a-z0-9-].
void make_and_end(const std::string& name, const std::string& layer) {
  static auto tree = sys::CgroupTree::find();
  if (!tree) give_up("find the control groups");
  auto group = (*tree)->create(name, {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer});
  if (!group || !(*group)->set_memory(2ull << 30, 0) || !(*group)->set_pids(1024) || !(*group)->set_cpus(1))
    give_up("make a control group");
  auto leaf = (*group)->create_child("exec");
  if (!leaf) give_up("make a control group");
  auto joins = (*leaf)->open_join_fds();
  int mapped[2];
  if (!joins || ::pipe2(mapped, O_CLOEXEC) < 0) give_up("prepare");
  auto child = sys::clone3(kNamespaces);
  if (!child) give_up("clone3");
  if (child->pid == 0) become_sandbox(mapped[0], *joins, layer);
  const sys::IdMap ids = {{0, kFirstId, 65536}};
  if (!sys::write_id_maps(child->pid, ids, ids, sys::Setgroups::Keep)) give_up("map the user ids");
  write_all(mapped[1], "m");
  auto status = sys::wait_for(child->pid);
  if (!status || *status != 0) give_up("a bare sandbox failed");
  ::close(mapped[0]), ::close(mapped[1]);
  joins->clear();  // or the kernel keeps what it knows of these files
  if (!sys::destroy(**leaf) || !sys::destroy(**group)) give_up("remove a control group");
}

// One after the other until the time is over; says how many there were. `parent` is the folder at `place`, for layers.
[[noreturn]] void make_many(Clock::time_point end, int parent, const std::string& place, int answer) {
  const std::string names = "cove-bench-floor-" + std::to_string(::getpid()) + "-";
  int count = 0;
  for (; Clock::now() < end; ++count) {
    const std::string name = names + std::to_string(count);
    if (place.empty()) {
      make_and_end(name, "");
      continue;
    }
    BareLayer layer(parent, name);
    make_and_end(name, place + "/" + name);
  }
  write_all(answer, {reinterpret_cast<char*>(&count), sizeof count});
  ::_exit(0);
}

// Shows a subvolume to this process and its children only.
UniqueFd show(int mount, const std::string& place) {
  std::filesystem::create_directory(place);
  if (::unshare(CLONE_NEWNS) < 0 || !sys::make_mounts_private() || !sys::attach_mount(mount, AT_FDCWD, place))
    give_up("show the pool");
  UniqueFd folder(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fchmod(folder.get(), 0711) < 0) give_up("open the pool");
  return folder;
}

}  // namespace

Floor::Floor(const std::string& folder) : folder_(folder) {
  std::filesystem::create_directory(folder_);
  auto pool = Pool::open(folder_, {Lifetime::OneRun, kGiB});
  if (!pool) give_up("open a pool: " + pool.error().message());
  pool_ = std::move(*pool);
}

Floor::~Floor() = default;

double Floor::rate(int clients, std::chrono::seconds duration) const {
  int answers[2];
  if (::pipe2(answers, O_CLOEXEC) < 0) give_up("pipe");
  std::unique_ptr<Layer> common;  // the clients' layers lie in it
  if (pool_) {
    auto layer = pool_->create("floor", Lifetime::OneRun, kGiB);
    if (!layer) give_up("make a layer");
    common = std::move(*layer);
  }
  const Clock::time_point start = Clock::now();
  const pid_t first = ::fork();
  if (first == 0) {
    const std::string place = common ? folder_ + "/shown" : "";
    UniqueFd parent = common ? show(common->mount().mount, place) : UniqueFd();
    for (int i = 0; i < clients; ++i)
      if (::fork() == 0) make_many(start + duration, parent.get(), place, answers[1]);
    while (::wait(nullptr) > 0) continue;
    ::_exit(0);
  }
  ::close(answers[1]);
  int sum = 0;
  for (int i = 0; i < clients; ++i) {
    int count = 0;
    if (::read(answers[0], &count, sizeof count) != sizeof count) give_up("the floor failed");
    sum += count;
  }
  const double time = std::chrono::duration<double>(Clock::now() - start).count();
  ::close(answers[0]);
  if (::waitpid(first, nullptr, 0) < 0 || (common && !common->remove())) give_up("end the floor");
  return sum / time;
}

}  // namespace cove::bench
