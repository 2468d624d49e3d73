#include "image/image_top.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "image/etc.h"
#include "image/figures_module.h"
#include "sys/beneath.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr uint32_t kUser = 1000;
constexpr size_t kLargestTable = 1 << 20;

struct Folder {
  const char* path;
  mode_t mode;
};
constexpr Folder kFolders[] = {{"proc", 0555}, {"sys", 0555},  {"dev", 0755},       {"run", 0755},
                               {"tmp", 01777}, {"root", 0700}, {"workspace", 0755}, {"var/tmp", 01777}};

class Top {
 public:
  explicit Top(const TopOrder& order) : order_(order) {}

  Result<void> build() {
    COVE_TRY(make_root());
    for (const Folder& each : kFolders) COVE_TRY(need_folder(each.path, each.mode, 0));
    COVE_TRY(add_etc());
    COVE_TRY(add_own_folders());
    return add_sudo();
  }

 private:
  // Looks up a path in the image, without following a link at the end. Links on the way resolve inside the image.
  std::optional<struct stat> look(const std::string& path) const {
    Result<struct stat> info = sys::stat_beneath(order_.image, path);
    return info ? std::optional(*info) : std::nullopt;
  }

  std::string path_of(const std::string& path) const { return concat(order_.folder, "/", path); }

  Result<void> give(const std::string& path, uint32_t user, uint32_t group) const {
    if (::geteuid() == 0 && ::lchown(path_of(path).c_str(), user, group) < 0)
      return fail_errno(concat("chown ", path_of(path)));
    return {};
  }

  Result<void> make_root() {
    std::optional<struct stat> own = look(".");
    if (::chmod(order_.folder.c_str(), own ? own->st_mode & 07777 : 0755) < 0)
      return fail_errno(concat("chmod ", order_.folder));
    if (own) return give("", own->st_uid, own->st_gid);
    return give("", order_.owner_id(0), order_.owner_id(0));
  }

  // Creates the same folder as in the image, so that this one can cover it; false if the image has something else
  // there.
  Result<bool> copy_folder(const std::string& path, mode_t otherwise) {
    if (sys::exists(path_of(path))) return true;
    size_t slash = path.rfind('/');
    if (slash != std::string::npos && !COVE_TRY(copy_folder(path.substr(0, slash), 0755))) return false;
    std::optional<struct stat> own = look(path);
    if (own && !S_ISDIR(own->st_mode)) return false;
    COVE_TRY(sys::mkdir(path_of(path), 0700));
    COVE_TRY(own ? give(path, own->st_uid, own->st_gid) : give(path, order_.owner_id(0), order_.owner_id(0)));
    if (::chmod(path_of(path).c_str(), own ? own->st_mode & 07777 : otherwise) < 0)
      return fail_errno(concat("chmod ", path));
    if (own) {
      struct timespec times[] = {own->st_mtim, own->st_mtim};
      static_cast<void>(::utimensat(AT_FDCWD, path_of(path).c_str(), times, 0));
    }
    return true;
  }

  // Creates a folder, whatever the image has there, because something is mounted on it or programs expect it.
  Result<void> need_folder(const std::string& path, mode_t mode, uint32_t owner) {
    std::optional<struct stat> own = look(path);
    if (own && S_ISDIR(own->st_mode)) return {};
    const bool top_level = path.find('/') == std::string::npos;
    if (own && !top_level) return {};
    if (!top_level && !COVE_TRY(copy_folder(path.substr(0, path.rfind('/')), 0755))) return {};
    COVE_TRY(sys::mkdir(path_of(path), 0700));
    COVE_TRY(give(path, order_.owner_id(owner), order_.owner_id(owner)));
    if (::chmod(path_of(path).c_str(), mode) < 0) return fail_errno(concat("chmod ", path));
    return {};
  }

  Result<void> file(const std::string& path, std::string_view data, mode_t mode) {
    COVE_TRY(sys::write_file(path_of(path), data, 0600));
    COVE_TRY(give(path, order_.owner_id(0), order_.owner_id(0)));
    if (::chmod(path_of(path).c_str(), mode) < 0) return fail_errno(concat("chmod ", path));
    return {};
  }

  std::optional<std::string> table(const std::string& path) const {
    Result<UniqueFd> found = sys::open_file_beneath(order_.image, path, O_RDONLY);
    if (!found) return std::nullopt;
    Result<struct stat> info = sys::fstat(found->get());
    if (!info || static_cast<uint64_t>(info->st_size) > kLargestTable) return std::nullopt;
    Result<std::string> text = sys::read_all(found->get(), kLargestTable);
    return text ? std::optional(*text) : std::nullopt;
  }

  static bool names(const std::string& table, std::string_view name) {
    return std::ranges::any_of(split(table, '\n'),
                               [&](const std::string& line) { return line.starts_with(concat(name, ":")); });
  }

  // Adds a line for `user` if the table has none.
  Result<void> add_line(const std::string& path, std::string_view otherwise, std::string_view line) {
    std::string text = table(path).value_or(std::string(otherwise));
    if (names(text, "user")) return {};
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return file(path, text + std::string(line), 0644);
  }

  Result<void> add_etc() {
    if (!COVE_TRY(copy_folder("etc", 0755))) return {};
    bool known = names(table("etc/passwd").value_or(""), "user");
    COVE_TRY(add_line("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", "user:x:1000:1000:user:/home/user:/bin/sh\n"));
    COVE_TRY(add_line("etc/group", "root:x:0:\n", "user:x:1000:\n"));
    for (const GeneratedFile& each : host_names()) COVE_TRY(file(each.path, each.data, 0644));
    if (!look("etc/nsswitch.conf")) COVE_TRY(file("etc/nsswitch.conf", "hosts: files dns\n", 0644));
    if (!look("etc/gitconfig")) COVE_TRY(file("etc/gitconfig", kGitConfig, 0644));
    return known ? Result<void>() : need_folder("home/user", 0755, kUser);
  }

  Result<void> add_sudo() {
    if (order_.sudo.empty()) return {};
    for (const char* folder : {"usr/bin", "bin", "usr/local/bin"})
      if (COVE_TRY(copy_folder(folder, 0755)))
        return file(concat(std::string_view(folder), "/sudo"), order_.sudo, 0755);
    return {};
  }

  // Replaces whatever the image has there.
  Result<void> add_own_folders() {
    for (const std::string& path : {std::string(".cove"), figures_folder(), std::string(kRepositoryPath + 1)}) {
      COVE_TRY(sys::mkdir(path_of(path), 0755));
      COVE_TRY(give(path, order_.owner_id(0), order_.owner_id(0)));
    }
    for (const FiguresFile& each : figures_files()) COVE_TRY(file(each.path, each.text, 0644));
    return {};
  }

  const TopOrder& order_;
};

}  // namespace

Result<void> build_image_top(const TopOrder& order) { return Top(order).build(); }

}  // namespace cove
