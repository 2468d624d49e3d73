#include "change/tree_scan.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove::change {
namespace {

constexpr uint64_t kStayInside = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;

Kind kind_of(uint16_t mode) {
  if (S_ISREG(mode)) return Kind::File;
  if (S_ISDIR(mode)) return Kind::Folder;
  return S_ISLNK(mode) ? Kind::Link : Kind::Other;
}

int64_t nanoseconds(const statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

Result<std::string> read_link(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) return fail_errno(concat("readlink ", name));
  target.resize(static_cast<size_t>(size));
  return target;
}

class Scan {
 public:
  Scan(int top, size_t most_entries) : top_(top), most_entries_(most_entries) {}

  Result<Tree> run() {
    mount_ = COVE_TRY(stat_entry(top_, "")).mount;
    folders_.emplace_back();
    while (!folders_.empty()) {
      std::string folder = std::move(folders_.back());
      folders_.pop_back();
      COVE_TRY(scan_folder(folder));
    }
    std::ranges::sort(tree_.entries, {}, &Found::path);
    std::ranges::sort(tree_.uncovered, {}, &Uncovered::path);
    std::ranges::sort(tree_.repositories);
    return std::move(tree_);
  }

 private:
  Result<void> scan_folder(const std::string& path) {
    Result<UniqueFd> folder = open_below(top_, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!folder) return pass_over(path, folder.error());
    Result<std::vector<std::string>> names = sys::list_folder(folder->get());
    if (!names) return pass_over(path, names.error());
    for (const std::string& name : *names) {
      if (name == ".git")
        tree_.repositories.push_back(path);
      else
        COVE_TRY(take(folder->get(), name, join_path(path, name)));
    }
    return {};
  }

  // An inaccessible entry is reported as uncovered; a removed one is skipped.
  Result<void> pass_over(const std::string& path, const Error& error) {
    if (path.empty()) return fail(error);
    switch (error.errnum()) {
      case EACCES:
      case EPERM:
        return miss(path, Gap::Unreadable);
      case EXDEV:
        return miss(path, Gap::Mount);
      case ENAMETOOLONG:
        return miss(path, Gap::TooDeep);
      case ENOENT:
        return {};
      case ENOTDIR:
      case ELOOP:
      case EAGAIN:
        return miss(path, Gap::Changing);
      default:
        return fail(error);
    }
  }

  Result<void> miss(const std::string& path, Gap gap) {
    tree_.uncovered.push_back({path, gap});
    return {};
  }

  Result<void> take(int folder, const std::string& name, const std::string& path) {
    Result<EntryStat> entry = stat_entry(folder, name);
    if (!entry) return pass_over(path, entry.error());
    if (entry->mount != mount_) return miss(path, Gap::Mount);
    if (tree_.entries.size() >= most_entries_)
      return fail(Error(Code::Exhausted, concat("the folder has more than ", most_entries_, " files"))
                      .hint("choose a smaller folder as the workspace"));
    Found found = {path, entry->kind, entry->mode, entry->stamp, ""};
    if (found.kind == Kind::Link) {
      Result<std::string> target = read_link(folder, name);
      if (!target) return pass_over(path, target.error());
      found.target = std::move(*target);
    }
    if (found.kind == Kind::Folder) folders_.push_back(path);
    tree_.entries.push_back(std::move(found));
    return {};
  }

  int top_;
  size_t most_entries_;
  uint64_t mount_ = 0;
  std::vector<std::string> folders_;  // still to be scanned
  Tree tree_;
};

}  // namespace

Result<Tree> scan_tree(int folder, size_t most_entries) { return Scan(folder, most_entries).run(); }

Result<UniqueFd> open_below(int folder, const std::string& path, int flags) {
  return sys::openat2(folder, path, flags, kStayInside);
}

Result<EntryStat> stat_entry(int folder, const std::string& name) {
  struct statx info;
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::statx(folder, name.c_str(), flags, STATX_BASIC_STATS | STATX_MNT_ID, &info) < 0)
    return fail_errno(concat("stat ", name));
  EntryStat entry;
  entry.kind = kind_of(info.stx_mode);
  entry.mode = info.stx_mode & 07777;
  entry.stamp = {info.stx_size, nanoseconds(info.stx_mtime), nanoseconds(info.stx_ctime), info.stx_ino};
  entry.device = makedev(info.stx_dev_major, info.stx_dev_minor);
  // Before Linux 5.8 there is no id of the mount; the device is the next best.
  entry.mount = info.stx_mask & STATX_MNT_ID ? info.stx_mnt_id : entry.device;
  return entry;
}

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : concat(folder, "/", name);
}

}  // namespace cove::change
