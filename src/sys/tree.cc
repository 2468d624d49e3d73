#include "sys/tree.h"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

// One folder on the path from the top to the current position.
struct Level {
  ino_t inode = 0;
  std::vector<std::string> names;
  size_t next = 0;
};

class Walk {
 public:
  Walk(UniqueFd top, ClosedFolders closed, const TreeVisitor& visit)
      : here_(std::move(top)), closed_(closed), visit_(visit) {}

  Result<void> run() {
    struct stat info = COVE_TRY(fstat(here_.get()));
    device_ = info.st_dev;
    COVE_TRY(enter(info.st_ino));
    while (true) {
      if (levels_.back().next < levels_.back().names.size()) {
        COVE_TRY(step());
      } else {
        if (levels_.size() == 1) return {};
        COVE_TRY(leave());
      }
    }
  }

 private:
  Result<void> enter(ino_t inode) {
    if (closed_ == ClosedFolders::Open) make_writable();
    levels_.push_back({inode, COVE_TRY(list_folder(here_.get())), 0});
    return {};
  }

  // A folder may be read-only for its owner, which prevents removing its entries.
  void make_writable() const {
    struct stat info;
    if (::fstat(here_.get(), &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU)
      static_cast<void>(::fchmod(here_.get(), 0700));
  }

  Result<struct stat> stat_next() const {
    struct stat info;
    const std::string& name = levels_.back().names[levels_.back().next];
    if (::fstatat(here_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(concat("stat ", name));
    return info;
  }

  Result<void> visit_next(const struct stat& info) {
    Level& level = levels_.back();
    return visit_(here_.get(), level.names[level.next++], info);
  }

  Result<UniqueFd> open_folder(const std::string& name) {
    Result<UniqueFd> folder = openat(here_.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (folder || closed_ == ClosedFolders::Fail || folder.error().errnum() != EACCES) return folder;
    // By descriptor, because the name may have been replaced.
    UniqueFd closed = COVE_TRY(openat(here_.get(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (::chmod(fd_path(closed.get()).c_str(), 0700) < 0) return fail_errno(concat("chmod ", name));
    return openat(here_.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  }

  Result<void> step() {
    Result<struct stat> info = stat_next();
    if (!info) return skip_if_gone(info.error());
    if (!S_ISDIR(info->st_mode)) return visit_next(*info);
    const std::string& name = levels_.back().names[levels_.back().next];
    if (info->st_dev != device_) return fail(Code::Internal, concat(name, ": a file system is mounted there"));
    Result<UniqueFd> folder = open_folder(name);
    if (!folder) return skip_if_gone(folder.error());
    here_ = std::move(*folder);
    return enter(info->st_ino);
  }

  Result<void> skip_if_gone(const Error& error) {
    if (error.code() != Code::NotFound) return fail(error);
    ++levels_.back().next;
    return {};
  }

  Result<void> leave() {
    UniqueFd parent = COVE_TRY(openat(here_.get(), "..", O_RDONLY | O_DIRECTORY));
    levels_.pop_back();
    struct stat info = COVE_TRY(fstat(parent.get()));
    if (info.st_ino != levels_.back().inode || info.st_dev != device_)
      return fail(Code::Unavailable, "the tree was moved while it was walked");
    here_ = std::move(parent);
    Result<struct stat> left = stat_next();
    return left ? visit_next(*left) : skip_if_gone(left.error());
  }

  UniqueFd here_;
  ClosedFolders closed_;
  const TreeVisitor& visit_;
  dev_t device_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

Result<void> walk_tree(UniqueFd top, ClosedFolders closed, const TreeVisitor& visit) {
  return Walk(std::move(top), closed, visit).run();
}

}  // namespace cove::sys
