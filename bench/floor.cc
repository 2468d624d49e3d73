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

#include "api_server.h"
#include "runtime/native/proc_masks.h"
#include "sys/cgroup.h"
#include "sys/process.h"

namespace cove::bench {
namespace {

using sys::Controller;

constexpr int kNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr const char* kRoot = "/tmp";

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
void build_root() {
  const std::string stage = kRoot, root = stage + "/root";
  must(::mount("", "/", "", MS_REC | MS_PRIVATE, ""), "make the mounts private");
  mount_new("tmpfs", stage, "size=1m,mode=755");
  for (const char* name : {"/root", "/skeleton", "/over", "/shield", "/devices", "/devices/pts", "/devices/shm",
                           "/layer", "/l0", "/l1", "/l2"})
    make_folder(stage + name);
  for (const char* name : {"/usr", "/proc", "/dev", "/opt", "/old"}) make_folder(stage + "/skeleton" + name);
  for (const char* name : {"bin", "lib", "lib64"})
    must(::symlink((std::string("usr/") + name).c_str(), (stage + "/skeleton/" + name).c_str()), name);
  for (auto [source, name] : {std::pair{stage + "/layer", "/layer"}, std::pair{stage + "/skeleton", "/l0"},
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

[[noreturn]] void become_sandbox(int mapped, const std::vector<UniqueFd>& joins) {
  char byte;
  if (::read(mapped, &byte, 1) != 1) ::_exit(1);
  must(::setgroups(0, nullptr), "setgroups");
  must(::setresgid(0, 0, 0), "setresgid");
  must(::setresuid(0, 0, 0), "setresuid");
  for (const UniqueFd& join : joins) must(static_cast<int>(::write(join.get(), "0", 1)), "join the control group");
  build_root();
  ::execl("/usr/bin/true", "true", nullptr);
  ::_exit(127);
}

}  // namespace

void make_and_end_bare_sandbox(const std::string& name) {
  static auto tree = sys::CgroupTree::find();
  if (!tree) give_up("find the control groups");
  auto group = (*tree)->create(name, {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer});
  if (!group || !(*group)->set_memory(2ull << 30) || !(*group)->set_pids(1024) || !(*group)->set_cpus(1))
    give_up("make a control group");
  auto leaf = (*group)->create_child("exec");
  if (!leaf) give_up("make a control group");
  auto joins = (*leaf)->open_join_fds();
  int mapped[2];
  if (!joins || ::pipe2(mapped, O_CLOEXEC) < 0) give_up("prepare");
  auto child = sys::clone3(kNamespaces);
  if (!child) give_up("clone3");
  if (child->pid == 0) become_sandbox(mapped[0], *joins);
  if (!sys::write_id_maps(child->pid, {{0, 1'000'000, 65536}}, {{0, 1'000'000, 65536}}, sys::Setgroups::Keep))
    give_up("map the user ids");
  write_all(mapped[1], "m");
  auto status = sys::wait_for(child->pid);
  if (!status || *status != 0) give_up("a bare sandbox failed");
  ::close(mapped[0]), ::close(mapped[1]);
  joins->clear();  // or the kernel keeps what it knows of these files
  if (!sys::destroy(**leaf) || !sys::destroy(**group)) give_up("remove a control group");
}

}  // namespace cove::bench
