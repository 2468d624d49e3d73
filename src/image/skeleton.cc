#include "image/skeleton.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/text.h"
#include "image/etc.h"
#include "image/figures_module.h"
#include "image/host_image.h"
#include "image/tree_writer.h"
#include "model/limits.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr uid_t kUser = 1000;
constexpr uint64_t kMaxPackageStatus = 16 * kMiB;
constexpr uint64_t kMaxPackageLists = 32 * kMiB;

struct Folder {
  const char* path;
  mode_t mode;
};
constexpr Folder kFolders[] = {
    {"proc", 0755},    {"sys", 0755},       {"dev", 0755},      {"run", 0755},       {"run/lock", 01777},
    {"tmp", 01777},    {"var", 0755},       {"var/tmp", 01777}, {"var/cache", 0755}, {"var/lib", 0755},
    {"var/log", 0755}, {"var/spool", 0755}, {"home", 0755},     {"mnt", 0755},       {"srv", 0755},
    {"media", 0755},   {"workspace", 0755}, {"usr", 0755},      {"opt", 0755},
};
constexpr const char* kPackageFolders[] = {
    "var/lib/dpkg/info",         "var/lib/dpkg/updates",      "var/lib/dpkg/triggers",          "var/lib/dpkg/parts",
    "var/lib/dpkg/alternatives", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt",
    "var/cache/debconf",
};

// The host's folders below its root that hold programs; links where /usr is merged.
constexpr const char* kProgramFolders[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// The layer over one of the host's folders, so that an overlay of it has a lower of ours.
Result<void> add_over(const TreeWriter& image, const std::string& name) {
  COVE_TRY(image.folder("root/" + name));
  return image.folder("over/" + name);
}

Result<void> add_program_folders(const HostSource& host, const TreeWriter& image) {
  for (std::string name : kProgramFolders) {
    auto info = sys::lstat(concat(host.root, "/", name));
    if (!info) continue;
    if (S_ISDIR(info->st_mode)) COVE_TRY(add_over(image, name));
    if (!S_ISLNK(info->st_mode)) continue;
    std::string target = COVE_TRY(sys::readlink(concat(host.root, "/", name)));
    COVE_TRY(image.link("root/" + name, target));
  }
  return {};
}

// The entries of /opt are mounted one by one, read-only, in a folder of the image, which is cheaper than an overlay.
// Too many entries use an overlay after all. Their names are kept in the file `opt`.
Result<void> add_opt(const HostSource& host, const TreeWriter& image) {
  constexpr size_t kMostEntries = 16;
  auto names = sys::list_folder(host.root + "/opt");
  if (!names) return {};
  if (names->size() > kMostEntries) return add_over(image, "opt");
  std::string shown;
  for (const std::string& name : *names) {
    std::string source = concat(host.root, "/opt/", name);
    std::string target = concat("root/opt/", name);
    auto info = sys::lstat(source);
    if (!info || name.find('\n') != std::string::npos) continue;
    COVE_TRY(image.folder("root/opt"));
    if (S_ISLNK(info->st_mode)) COVE_TRY(image.link(target, COVE_TRY(sys::readlink(source))));
    if (S_ISDIR(info->st_mode)) COVE_TRY(image.folder(target));
    if (S_ISREG(info->st_mode)) COVE_TRY(image.file(target, ""));
    if (S_ISDIR(info->st_mode) || S_ISREG(info->st_mode)) shown += name + "\n";
  }
  return image.file("opt", shown);
}

Result<void> add_host_folders(const HostSource& host, const TreeWriter& image) {
  COVE_TRY(add_program_folders(host, image));
  COVE_TRY(add_over(image, "usr"));
  COVE_TRY(add_opt(host, image));
  if (host.sudo_program.empty()) return {};
  COVE_TRY(image.folder("over/usr/bin"));
  std::string sudo = COVE_TRY_NOTE("read the sudo client", sys::read_file(host.sudo_program));
  return image.file("over/usr/bin/sudo", sudo, 0755);
}

// dpkg warns about every package without a list of files, so these are copied unless there are too many.
Result<void> copy_package_lists(const std::string& from, const TreeWriter& root) {
  uint64_t total = 0;
  for (const std::string& name : COVE_TRY(sys::list_folder(from))) {
    if (!name.ends_with(".list") && name != "format") continue;
    auto data = sys::read_file(from + "/" + name, kMaxPackageLists);
    if (!data) continue;
    total += data->size();
    if (total > kMaxPackageLists) return {};
    COVE_TRY(root.file("var/lib/dpkg/info/" + name, *data));
  }
  return {};
}

// The part of dpkg's and apt's state that lists installed packages.
Result<void> add_packages(const HostSource& host, const TreeWriter& root) {
  std::string dpkg = host.root + "/var/lib/dpkg";
  auto status = sys::stat(dpkg + "/status");
  if (!status || static_cast<uint64_t>(status->st_size) > kMaxPackageStatus) return {};
  for (const char* path : kPackageFolders) COVE_TRY(root.folder(path));
  std::string packages = COVE_TRY(sys::read_file(dpkg + "/status"));
  COVE_TRY(root.file("var/lib/dpkg/status", packages));
  for (const char* empty : {"var/lib/dpkg/available", "var/lib/dpkg/diversions", "var/lib/dpkg/statoverride"})
    COVE_TRY(root.file(empty, ""));
  if (auto lists = copy_package_lists(dpkg + "/info", root); !lists && lists.error().code() != Code::NotFound)
    return lists;
  return {};
}

Result<void> add_home(TreeWriter root, const std::string& home, uid_t owner, mode_t mode) {
  root.set_owner(owner);
  COVE_TRY(root.folder(home, mode));
  auto names = sys::list_folder(root.path("etc/skel"));
  if (!names) return {};
  for (const std::string& name : *names) {
    auto data = sys::read_file(root.path("etc/skel/" + name));
    if (data) COVE_TRY(root.file(concat(home, "/", name), *data));
  }
  return {};
}

Result<void> add_root(const HostSource& host, const std::string& folder) {
  TreeWriter root(folder, host.first_id);
  for (const Folder& entry : kFolders) COVE_TRY(root.folder(entry.path, entry.mode));
  COVE_TRY(root.link("var/run", "/run"));
  COVE_TRY(root.link("var/lock", "/run/lock"));
  COVE_TRY(copy_etc(host.root + "/etc", root));
  COVE_TRY(generate_etc(root));
  COVE_TRY(add_packages(host, root));
  COVE_TRY(add_home(root, "root", 0, 0700));
  for (const std::string& path : {figures_folder(), std::string(kRepositoryPath + 1)}) COVE_TRY(root.folder(path));
  for (const FiguresFile& each : figures_files()) COVE_TRY(root.file(each.path, each.text));
  return add_home(root, "home/user", kUser, 0755);
}

// A device node if this process may create one, otherwise an empty file as a mount point.
Result<void> add_device(const TreeWriter& dev, const char* name) {
  COVE_TRY(dev.file(name, "", 0666));
  struct stat host;
  if (::stat(concat("/dev/", name).c_str(), &host) < 0 || !S_ISCHR(host.st_mode)) return {};
  std::string node = dev.path(concat(name, ".node"));
  if (::mknod(node.c_str(), S_IFCHR | 0666, host.st_rdev) < 0) {
    if (errno == EPERM || errno == EACCES) return {};
    return fail_errno(concat("mknod ", node));
  }
  if (::chmod(node.c_str(), 0666) < 0) return fail_errno(concat("chmod ", node));
  return sys::rename(node, dev.path(name));
}

}  // namespace

Result<void> build_devices(const std::string& folder) {
  TreeWriter dev(folder);
  for (const char* name : kDevices) COVE_TRY(add_device(dev, name));
  COVE_TRY(dev.link("fd", "/proc/self/fd"));
  COVE_TRY(dev.link("stdin", "/proc/self/fd/0"));
  COVE_TRY(dev.link("stdout", "/proc/self/fd/1"));
  COVE_TRY(dev.link("stderr", "/proc/self/fd/2"));
  COVE_TRY(dev.link("ptmx", "pts/ptmx"));
  for (const char* name : {"pts", "shm", "mqueue"}) COVE_TRY(dev.folder(name));
  return {};
}

Result<void> build_host_image(const HostSource& host, const std::string& folder) {
  TreeWriter image(folder, host.first_id);
  for (const char* part : {"root", "over", "dev"}) COVE_TRY(image.folder(part));
  COVE_TRY(add_root(host, image.path("root")));
  COVE_TRY(add_host_folders(host, image));
  return build_devices(image.path("dev"));
}

}  // namespace cove
