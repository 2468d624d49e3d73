#include "unpack/tree_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sys/file.h"
#include "unpack/sha256.h"

namespace cove::unpack {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr size_t kLongestAttributes = 64 << 10;

class Walk {
 public:
  Walk() : buffer_(kPiece, '\0') {}

  Result<void> folder(int fd) {
    std::vector<std::string> names = COVE_TRY(sys::list_folder(fd));
    number(names.size());
    for (const std::string& name : names) {
      text(name);
      COVE_TRY_NOTE(name, entry(fd, name));
    }
    return {};
  }

  Result<void> root(int fd) {
    struct stat info = COVE_TRY(sys::fstat(fd));
    about(info);
    COVE_TRY(attributes(fd));
    return folder(fd);
  }

  std::string hex() { return digest_.hex(); }

 private:
  void number(uint64_t value) { digest_.update({reinterpret_cast<const char*>(&value), sizeof value}); }
  void text(std::string_view value) {
    number(value.size());
    digest_.update(value);
  }

  void about(const struct stat& info) {
    number(info.st_mode), number(info.st_uid), number(info.st_gid);
    number(static_cast<uint64_t>(info.st_mtim.tv_sec)), number(static_cast<uint64_t>(info.st_mtim.tv_nsec));
    if (!S_ISDIR(info.st_mode))
      number(static_cast<uint64_t>(info.st_size)), number(info.st_nlink), number(info.st_rdev);
  }

  Result<void> entry(int parent, const std::string& name) {
    struct stat info;
    if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno("stat");
    about(info);
    if (S_ISLNK(info.st_mode)) {
      ssize_t size = ::readlinkat(parent, name.c_str(), buffer_.data(), buffer_.size());
      if (size < 0) return fail_errno("readlink");
      text({buffer_.data(), static_cast<size_t>(size)});
      return {};
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return {};
    UniqueFd fd = COVE_TRY(sys::openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    COVE_TRY(attributes(fd.get()));
    if (S_ISDIR(info.st_mode)) return folder(fd.get());
    // A file with several names is read only once.
    auto [known, is_new] = files_.try_emplace(info.st_ino, files_.size());
    number(known->second);
    return is_new ? content(fd.get()) : Result<void>();
  }

  Result<void> content(int fd) {
    while (true) {
      ssize_t size = ::read(fd, buffer_.data(), buffer_.size());
      if (size < 0) return fail_errno("read");
      if (size == 0) return {};
      digest_.update({buffer_.data(), static_cast<size_t>(size)});
    }
  }

  Result<void> attributes(int fd) {
    std::string names(kLongestAttributes, '\0');
    ssize_t length = ::flistxattr(fd, names.data(), names.size());
    if (length < 0) return errno == ENOTSUP ? Result<void>() : fail_errno("listxattr");
    std::vector<std::string> sorted = split(std::string_view(names).substr(0, static_cast<size_t>(length)), '\0');
    std::ranges::sort(sorted);
    for (const std::string& name : sorted) {
      if (name.empty() || name.find(".overlay.") != name.npos) continue;
      ssize_t size = ::fgetxattr(fd, name.c_str(), names.data(), names.size());
      if (size < 0) continue;
      text(name);
      text(std::string_view(names).substr(0, static_cast<size_t>(size)));
    }
    return {};
  }

  Sha256 digest_;
  std::string buffer_;
  std::map<ino_t, size_t> files_;
};

}  // namespace

Result<std::string> digest_tree(int root) {
  Walk walk;
  COVE_TRY(walk.root(root));
  return walk.hex();
}

}  // namespace cove::unpack
