#include "image/unpacker.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error_wire.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/overlay.h"
#include "sys/process.h"

namespace cove {
namespace {

using sys::Subtree;

constexpr const char* kStage = "/tmp";
constexpr uint64_t kSafe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr uint64_t kMostMemory = uint64_t{4} << 30;

bool maps_ids(const sys::IdPlan& ids) { return !ids.rootless && !ids.shared; }

void set_limit(__rlimit_resource resource, uint64_t value) {
  struct rlimit limit = {value, value};
  static_cast<void>(::setrlimit(resource, &limit));
}

// It uses the host's libraries, so they are loaded before it changes its root.
[[noreturn]] void become_unpacker(const UnpackOrder& order, const sys::IdPlan& ids, int program, int mapped, int report,
                                  int ready, int go) {
  char byte;
  auto die = [&](const char* what) {
    static_cast<void>(sys::write_all(report, "-" + encode_error(Error::from_errno(errno, what))));
    ::_exit(1);
  };
  if (::read(mapped, &byte, 1) != 1) die("wait for user ids");
  if (!ids.single_id && ::setgroups(0, nullptr) < 0) die("setgroups");
  if (::setresgid(0, 0, 0) < 0 || ::setresuid(0, 0, 0) < 0) die("become root of the namespace");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_AS, kMostMemory);
  // Above all target numbers, so that none is overwritten.
  constexpr int kHigh = 64;
  auto high = [&](int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, kHigh); };
  int fds[] = {high(order.archive), high(report), high(report), high(ready), high(go)};
  int high_program = high(program);
  if (order.archive < 0) fds[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  fds[2] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int number = 0; number < 5; ++number)
    if (::dup2(fds[number], number) < 0) die("dup2");
  if (::syscall(SYS_close_range, 5, ~0u, CLOSE_RANGE_CLOEXEC) < 0) die("close_range");
  std::string letters;
  if (!order.parents.empty()) letters += unpack::kLetterParents;
  if (order.lowest) letters += unpack::kLetterLowest;
  if (ids.single_id) letters += unpack::kLetterOneId;
  if (!ids.rootless) letters += unpack::kLetterReported;
  std::string words[] = {"cove-unpack",
                         COVE_VERSION,
                         order.archive < 0 ? unpack::kTaskDigest : unpack::kTaskUnpack,
                         std::to_string(std::max<uint64_t>(order.max_bytes, 1)),
                         std::to_string(std::max<uint64_t>(order.max_entries, 1)),
                         letters};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char locale[] = "LC_ALL=C.UTF-8";
  char* env[] = {locale, nullptr};
  ::syscall(SYS_execveat, high_program, "", argv.data(), env, AT_EMPTY_PATH);
  die(concat("execute ", order.program).c_str());
  ::_exit(1);
}

// The root of this mount namespace: a memory file system that contains the folders.
class Stage {
 public:
  explicit Stage(const sys::IdPlan& ids) : ids_(ids) {}

  Result<void> raise(size_t folders) {
    sys::MountOptions options = {{"size", "1m"}, {"nr_inodes", std::to_string(64 + folders)}, {"mode", "0755"}};
    root_ = COVE_TRY(sys::make_mount("tmpfs", options, kSafe));
    return sys::attach_mount(root_.get(), AT_FDCWD, kStage);
  }

  // A mount of a folder of the host, copied before the stage covers anything.
  Result<UniqueFd> open(const std::string& folder) { return sys::open_tree_clone(AT_FDCWD, folder, Subtree::One); }

  Result<void> place(const UniqueFd& tree, const std::string& path, uint64_t attributes, int user_namespace) {
    COVE_TRY(sys::mkdir(concat(kStage, path), 0755));
    COVE_TRY(sys::mount_setattr(tree.get(), attributes | kSafe, Subtree::One, maps_ids(ids_) ? user_namespace : -1));
    return sys::attach_mount(tree.get(), AT_FDCWD, concat(kStage, path));
  }

  // Layers as one tree.
  Result<UniqueFd> merge(const std::vector<UniqueFd>& trees, int user_namespace) {
    std::vector<std::string> paths;
    for (const UniqueFd& tree : trees) {
      std::string path = concat("/", paths.size());
      COVE_TRY(place(tree, path, MOUNT_ATTR_RDONLY, user_namespace));
      paths.push_back(concat(kStage, path));
    }
    if (paths.size() == 1) return sys::open_tree_clone(AT_FDCWD, paths[0], Subtree::One);
    sys::MountOptions options = sys::lower_options(paths);
    if (ids_.rootless) options.emplace_back("userxattr", "");
    return sys::make_mount("overlay", options, kSafe | MOUNT_ATTR_RDONLY);
  }

  int root() const { return root_.get(); }

 private:
  const sys::IdPlan& ids_;
  UniqueFd root_;
};

struct Started {
  sys::Child child;
  UniqueFd user_namespace;
};

Result<Started> start_unpacker(const UnpackOrder& order, const sys::IdPlan& ids, int report, const sys::Pipe& ready,
                               const sys::Pipe& go) {
  UniqueFd program = COVE_TRY(sys::open(order.program, O_RDONLY));
  sys::Pipe mapped = COVE_TRY(sys::pipe());
  Started started;
  started.child = COVE_TRY(
      sys::clone3(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP));
  if (started.child.pid == 0) {
    mapped.write.reset();
    become_unpacker(order, ids, program.get(), mapped.read.get(), report, ready.write.get(), go.read.get());
  }
  sys::Setgroups setgroups = ids.single_id ? sys::Setgroups::Deny : sys::Setgroups::Keep;
  COVE_TRY(sys::write_id_maps(started.child.pid, ids.users, ids.groups, setgroups));
  started.user_namespace = COVE_TRY(sys::open(concat("/proc/", started.child.pid, "/ns/user"), O_RDONLY));
  if (::write(mapped.write.get(), "m", 1) != 1) return fail_errno("start cove-unpack");
  return started;
}

// Runs in the builder: a process that may mount, in its own mount namespace.
Result<void> build_and_wait(const UnpackOrder& order, const sys::IdPlan& ids, int report) {
  sys::Pipe ready = COVE_TRY(sys::pipe());
  sys::Pipe go = COVE_TRY(sys::pipe());
  Started started = COVE_TRY(start_unpacker(order, ids, report, ready, go));
  ready.write.reset();
  go.read.reset();
  Stage stage(ids);
  UniqueFd layer = COVE_TRY(stage.open(order.folder));
  std::vector<UniqueFd> parents;
  for (const std::string& parent : order.parents) parents.push_back(COVE_TRY(stage.open(parent)));
  char byte;
  if (::read(ready.read.get(), &byte, 1) != 1) {
    static_cast<void>(sys::wait_for(started.child.pid));
    return {};  // the child has reported the error
  }
  COVE_TRY(stage.raise(parents.size()));
  uint32_t owner = ids.builder_id(0);
  if (!maps_ids(ids) && ::fchownat(layer.get(), "", owner, owner, AT_EMPTY_PATH) < 0)
    return fail_errno("chown the layer");
  COVE_TRY(stage.place(layer, unpack::kLayerFolder, order.archive < 0 ? MOUNT_ATTR_RDONLY : 0,
                       started.user_namespace.get()));
  if (!parents.empty()) {
    UniqueFd below = COVE_TRY_NOTE("mount the layers below", stage.merge(parents, started.user_namespace.get()));
    COVE_TRY(sys::mkdir(concat(kStage, unpack::kParentsFolder), 0755));
    COVE_TRY(sys::attach_mount(below.get(), AT_FDCWD, concat(kStage, unpack::kParentsFolder)));
  }
  COVE_TRY(sys::pivot_root(stage.root()));
  if (::write(go.write.get(), "g", 1) != 1) return fail_errno("start cove-unpack");
  static_cast<void>(sys::wait_for(started.child.pid));
  return {};
}

// Calls `work` in a child that may mount, in its own mount namespace and, rootless, its own user namespace.
Result<sys::Child> start_builder_child(const sys::IdPlan& ids, const std::function<Result<void>()>& work, int report) {
  sys::Pipe go = COVE_TRY(sys::pipe());
  const bool helped = ids.rootless && !ids.single_id;
  sys::Child child = COVE_TRY(sys::clone3(helped ? CLONE_NEWUSER : 0));
  if (child.pid == 0) {
    go.write.reset();
    Result<void> done = [&]() -> Result<void> {
      char byte;
      if (::read(go.read.get(), &byte, 1) != 1) return fail(Code::Unavailable, "the user ids were not mapped");
      if (ids.rootless && ids.single_id) {
        COVE_TRY_NOTE("create a user namespace", sys::unshare(CLONE_NEWUSER));
        COVE_TRY(sys::write_id_maps(::getpid(), ids.outer_users, ids.outer_groups, sys::Setgroups::Deny));
      }
      if (ids.rootless && (::setresgid(0, 0, 0) < 0 || ::setresuid(0, 0, 0) < 0))
        return fail_errno("become root of the namespace");
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      COVE_TRY_NOTE("create a mount namespace", sys::unshare(CLONE_NEWNS));
      COVE_TRY(sys::make_mounts_private());
      return work();
    }();
    if (!done) static_cast<void>(sys::write_all(report, "-" + encode_error(done.error())));
    ::_exit(0);
  }
  Result<void> mapped = helped ? sys::map_with_helpers(child.pid, ids) : Result<void>();
  if (mapped && ::write(go.write.get(), "g", 1) != 1) mapped = fail_errno("start the builder");
  if (mapped) return child;
  go.write.reset();
  static_cast<void>(sys::wait_for(child.pid));
  return std::unexpected(mapped.error());
}

}  // namespace

Result<unpack::Report> run_unpacker(const UnpackOrder& order, const sys::IdPlan& ids) {
  sys::Pipe report = COVE_TRY(sys::pipe());
  int report_fd = report.write.get();
  sys::Child child =
      COVE_TRY(start_builder_child(ids, [&] { return build_and_wait(order, ids, report_fd); }, report_fd));
  report.write.reset();
  Result<std::string> text = sys::read_all(report.read.get(), unpack::kLongestReport);
  COVE_TRY(sys::wait_for(child.pid));
  if (!text) return std::unexpected(text.error());
  if (text->empty()) return fail(Code::Invalid, "cove-unpack died while it read the archive");
  if (text->front() == '-') return fail(decode_error(std::string_view(*text).substr(1)));
  unpack::Report answer;
  wire::Reader in(std::string_view(*text).substr(1));
  if (!answer.decode(in)) return fail(Code::Internal, "cove-unpack sent a malformed reply");
  return answer;
}

Result<void> with_layers_mounted(const std::vector<std::string>& layers, const sys::IdPlan& ids,
                                 const std::function<Result<void>(int root)>& work) {
  sys::Pipe report = COVE_TRY(sys::pipe());
  auto mount_and_work = [&]() -> Result<void> {
    Stage stage(ids);
    std::vector<UniqueFd> trees;
    for (const std::string& layer : layers) trees.push_back(COVE_TRY(stage.open(layer)));
    COVE_TRY(stage.raise(trees.size()));
    UniqueFd root;
    if (trees.empty())
      root = COVE_TRY(sys::open(kStage, O_PATH | O_DIRECTORY));
    else
      root = COVE_TRY(stage.merge(trees, -1));
    return work(root.get());
  };
  sys::Child child = COVE_TRY(start_builder_child(ids, mount_and_work, report.write.get()));
  report.write.reset();
  Result<std::string> text = sys::read_all(report.read.get(), wire::kMaxMessage);
  const int status = COVE_TRY(sys::wait_for(child.pid));
  if (!text) return std::unexpected(text.error());
  if (!text->empty()) return fail(decode_error(std::string_view(*text).substr(1)));
  if (status != 0) return fail(Code::Internal, "the process that had the layers mounted was killed");
  return {};
}

}  // namespace cove
