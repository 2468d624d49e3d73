#include "unpack/layer_writer.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "sys/file.h"

namespace cove::unpack {
namespace {

using Kind = LayerEntry::Kind;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kReserved = ".wh..wh.";
constexpr uint64_t kHighestId = 65535;
constexpr uint32_t kNobody = 65534;
constexpr size_t kLongestPath = 4096;
constexpr size_t kLongestName = 255;
// Links are resolved as if the layer's folder were the root, and never lead out of it.
constexpr uint64_t kInside = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
constexpr uint64_t kPlainly = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

bool is_whiteout(const struct stat& info) { return S_ISCHR(info.st_mode) && info.st_rdev == 0; }

std::unexpected<Error> invalid_entry(std::string_view name, std::string_view why) {
  return fail(Code::Invalid, concat("the entry '", name.substr(0, 300), "' ", why));
}

std::string parent_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_kept_attribute(std::string_view name) {
  if (name == "security.capability") return true;
  return name.starts_with("user.") && !name.starts_with("user.overlay.");
}

std::optional<struct stat> stat_at(int folder, const std::string& name) {
  struct stat info;
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return std::nullopt;
  return info;
}

// Finds the other names of a file below a folder.
void find_names(int folder, const std::string& path, const struct stat& original, std::vector<std::string>& names) {
  Result<std::vector<std::string>> entries = sys::list_folder(folder);
  if (!entries || path.size() > kLongestPath) return;
  for (const std::string& name : *entries) {
    std::optional<struct stat> info = stat_at(folder, name);
    std::string inner = path.empty() ? name : concat(path, "/", name);
    if (info && info->st_ino == original.st_ino && info->st_dev == original.st_dev) names.push_back(inner);
    if (!info || !S_ISDIR(info->st_mode)) continue;
    if (Result<UniqueFd> below = sys::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
      find_names(below->get(), inner, original, names);
  }
}

Result<void> set_times(int folder, const std::string& name, const struct timespec& time) {
  struct timespec times[] = {time, time};
  if (::utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(concat("utimensat ", name));
  return {};
}

}  // namespace

Result<std::string> inner_path(std::string_view name) {
  std::string path;
  if (name.find('\0') != name.npos || name.size() > kLongestPath) return invalid_entry(name, "has an invalid name");
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return invalid_entry(name, "leads upwards");
    if (part.size() > kLongestName) return invalid_entry(name, "has a name that is too long");
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
}

// --- places ----------------------------------------------------------------------------------------------------------

Result<LayerWriter::Place> LayerWriter::place_of(const std::string& path) {
  std::string folder = parent_of(path);
  return Place{COVE_TRY(open_parent(folder)), name_of(path), path};
}

// Archives are mostly sorted by folder, so the last one is kept open.
Result<int> LayerWriter::open_parent(const std::string& folder) {
  if (folder.empty()) return root_;
  if (parent_ && parent_path_ == folder) return parent_.get();
  Result<UniqueFd> opened = sys::openat2(root_, folder, O_PATH | O_DIRECTORY, kInside);
  parent_ = opened ? std::move(*opened) : COVE_TRY(make_parents(folder));
  parent_path_ = folder;
  return parent_.get();
}

Result<UniqueFd> LayerWriter::make_parents(const std::string& folder) {
  UniqueFd at = COVE_TRY(sys::dup(root_));
  std::string path;
  for (const std::string& name : split(folder, '/')) {
    path = path.empty() ? name : concat(path, "/", name);
    at = COVE_TRY(step_into(at.get(), name, path));
  }
  return at;
}

Result<UniqueFd> LayerWriter::step_into(int folder, const std::string& name, const std::string& path) {
  std::optional<struct stat> info = stat_at(folder, name);
  if (info && S_ISDIR(info->st_mode)) return sys::openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (info && S_ISLNK(info->st_mode)) {
    Result<UniqueFd> through = sys::openat2(root_, path, O_PATH | O_DIRECTORY, kInside);
    return through ? std::move(through) : invalid_entry(path, "is a link that does not lead to a folder of its layer");
  }
  if (info && !is_whiteout(*info)) return invalid_entry(path, "is not a folder but contains another entry");
  if (info && ::unlinkat(folder, name.c_str(), 0) < 0) return fail_errno(concat("unlink ", path));
  UniqueFd made = COVE_TRY(imply_folder(folder, name, path));
  // The same layer removed it before and creates it again.
  if (info) COVE_TRY(mark_opaque(path));
  return made;
}

// A folder without an entry of its own, so far: it inherits from the layer below.
Result<UniqueFd> LayerWriter::imply_folder(int folder, const std::string& name, const std::string& path) {
  if (++report_.entries > options_.limits.entries) return fail(Code::Exhausted, "the layer has too many entries");
  if (::mkdirat(folder, name.c_str(), 0755) < 0) return fail_errno(concat("mkdir ", path));
  UniqueFd made = COVE_TRY(sys::openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  if (options_.parents < 0) {
    implied_.insert(path);
    return made;
  }
  Result<UniqueFd> below = sys::openat2(options_.parents, path, O_PATH | O_DIRECTORY, kPlainly);
  if (!below) return made;
  struct stat info = COVE_TRY(sys::fstat(below->get()));
  if (options_.owners == Owners::Kept &&
      ::fchownat(folder, name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
    return fail_errno(concat("chown ", path));
  if (::fchmodat(folder, name.c_str(), info.st_mode & 07777, 0) < 0) return fail_errno(concat("chmod ", path));
  folder_times_[path] = info.st_mtim;
  return made;
}

Result<void> LayerWriter::remove(const Place& place) {
  parent_path_.clear();
  UniqueFd folder = place.folder == root_ ? COVE_TRY(sys::dup(root_)) : std::move(parent_);
  Result<void> removed = sys::remove_tree_at(folder.get(), place.name);
  if (!removed) return removed;
  std::string below = place.path + "/";
  auto forget = [&](auto& known) {
    std::erase_if(known, [&](const auto& each) {
      std::string_view path;
      if constexpr (requires { each.first; })
        path = each.first;
      else
        path = each;
      return path == place.path || path.starts_with(below);
    });
  };
  forget(folder_times_), forget(implied_), forget(opaque_);
  return {};
}

// Existing entries are replaced, except a folder by a folder.
Result<void> LayerWriter::clear(const Place& place, Kind kind) {
  std::optional<struct stat> info = stat_at(place.folder, place.name);
  if (!info || (S_ISDIR(info->st_mode) && kind == Kind::Folder)) return {};
  return remove(place);
}

// --- entries ---------------------------------------------------------------------------------------------------------

Result<void> LayerWriter::count(const LayerEntry& entry) {
  if (++report_.entries > options_.limits.entries)
    return fail(Error(Code::Exhausted, concat("the layer has more than ", options_.limits.entries, " entries"))
                    .hint("raise the server's setting images.max_entries"));
  if (entry.kind != Kind::File) return {};
  if (entry.size > options_.limits.bytes || report_.bytes + entry.size > options_.limits.bytes)
    return fail(
        Error(Code::Exhausted, concat("the layer is larger than ", format_bytes(options_.limits.bytes), ", unpacked"))
            .hint("raise the server's setting images.max_size"));
  report_.bytes += entry.size;
  return {};
}

Result<void> LayerWriter::take(const LayerEntry& entry, const DataSource& data) {
  COVE_TRY(count(entry));
  std::string path = COVE_TRY(inner_path(entry.name));
  if (path.empty() && entry.kind != Kind::Folder) return invalid_entry(entry.name, "has no name");
  if (name_of(path).starts_with(kWhiteout)) return take_whiteout(path);
  if (entry.kind == Kind::Folder) return take_folder(entry, path);
  if (entry.kind == Kind::Device) {
    // It would have no effect in a sandbox anyway.
    ++report_.devices_left_out;
    return {};
  }
  Place place = COVE_TRY(place_of(path));
  COVE_TRY(clear(place, entry.kind));
  place = COVE_TRY(place_of(path));
  switch (entry.kind) {
    case Kind::HardLink:
      return take_hard_link(entry, place);
    case Kind::Symlink:
      return take_symlink(entry, place);
    case Kind::Fifo:
      return take_fifo(entry, place);
    default:
      return take_file(entry, place, data);
  }
}

Result<void> LayerWriter::take_folder(const LayerEntry& entry, const std::string& path) {
  int folder = root_;
  std::string name = ".";
  if (!path.empty()) {
    Place place = COVE_TRY(place_of(path));
    std::optional<struct stat> before = stat_at(place.folder, place.name);
    const bool hidden = before && is_whiteout(*before);
    COVE_TRY(clear(place, Kind::Folder));
    place = COVE_TRY(place_of(path));
    if (!(before && S_ISDIR(before->st_mode)) && ::mkdirat(place.folder, place.name.c_str(), 0700) < 0)
      return fail_errno(concat("mkdir ", path));
    if (hidden) {
      COVE_TRY(mark_opaque(path));
      place = COVE_TRY(place_of(path));
    }
    folder = place.folder;
    name = place.name;
  }
  implied_.erase(path);
  COVE_TRY(set_owner(folder, name, entry));
  if (::fchmodat(folder, name.c_str(), entry.mode & 07777, 0) < 0) return fail_errno(concat("chmod ", path));
  folder_times_[path] = entry.mtime;
  if (entry.xattrs.empty()) return {};
  UniqueFd opened = COVE_TRY(sys::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return set_attributes(opened.get(), entry);
}

Result<void> LayerWriter::take_file(const LayerEntry& entry, const Place& place, const DataSource& data) {
  UniqueFd file = COVE_TRY(sys::openat(place.folder, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  COVE_TRY(write_data(file.get(), entry, data));
  COVE_TRY(set_owner(file.get(), "", entry));
  // After chown, which clears set-id bits and capabilities.
  if (::fchmod(file.get(), entry.mode & 07777) < 0) return fail_errno(concat("chmod ", place.path));
  COVE_TRY(set_attributes(file.get(), entry));
  struct timespec times[] = {entry.mtime, entry.mtime};
  if (::futimens(file.get(), times) < 0) return fail_errno(concat("futimens ", place.path));
  return {};
}

Result<void> LayerWriter::write_data(int file, const LayerEntry& entry, const DataSource& data) {
  std::string_view piece;
  uint64_t offset = 0;
  uint64_t end = 0;
  while (COVE_TRY(data(piece, offset))) {
    if (offset > entry.size || piece.size() > entry.size - offset)
      return invalid_entry(entry.name, "has more data than its declared size");
    while (!piece.empty()) {
      ssize_t written = ::pwrite(file, piece.data(), piece.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return fail_errno(concat("write ", entry.name.substr(0, 300)));
      piece.remove_prefix(static_cast<size_t>(written));
      offset += static_cast<uint64_t>(written);
    }
    end = std::max(end, offset);
  }
  if (end < entry.size && ::ftruncate(file, static_cast<off_t>(entry.size)) < 0)
    return fail_errno(concat("ftruncate ", entry.name.substr(0, 300)));
  return {};
}

Result<void> LayerWriter::take_symlink(const LayerEntry& entry, const Place& place) {
  if (entry.link.empty() || entry.link.size() >= kLongestPath || entry.link.find('\0') != entry.link.npos)
    return invalid_entry(entry.name, "is a link without a target");
  if (::symlinkat(entry.link.c_str(), place.folder, place.name.c_str()) < 0)
    return fail_errno(concat("symlink ", place.path));
  COVE_TRY(set_owner(place.folder, place.name, entry));
  return set_times(place.folder, place.name, entry.mtime);
}

Result<void> LayerWriter::take_fifo(const LayerEntry& entry, const Place& place) {
  if (::mkfifoat(place.folder, place.name.c_str(), 0600) < 0) return fail_errno(concat("mkfifo ", place.path));
  COVE_TRY(set_owner(place.folder, place.name, entry));
  if (::fchmodat(place.folder, place.name.c_str(), entry.mode & 07777, 0) < 0)
    return fail_errno(concat("chmod ", place.path));
  return set_times(place.folder, place.name, entry.mtime);
}

// If the file is in a layer below, it is copied into this one, and both names link to the copy.
Result<void> LayerWriter::take_hard_link(const LayerEntry& entry, const Place& place) {
  std::string target = COVE_TRY(inner_path(entry.link));
  if (target.empty() || target == place.path) return invalid_entry(entry.name, "is a link to itself or to the root");
  auto link = [&]() -> Result<bool> {
    Result<UniqueFd> folder = target.find('/') == target.npos
                                  ? sys::dup(root_)
                                  : sys::openat2(root_, parent_of(target), O_PATH | O_DIRECTORY, kInside);
    if (!folder) return false;
    std::optional<struct stat> info = stat_at(folder->get(), name_of(target));
    if (!info) return false;
    if (S_ISDIR(info->st_mode) || S_ISCHR(info->st_mode))
      return invalid_entry(entry.name, "is a hard link to something that is not a file");
    Place here = COVE_TRY(place_of(place.path));
    if (::linkat(folder->get(), name_of(target).c_str(), here.folder, here.name.c_str(), 0) < 0)
      return fail_errno(concat("link ", place.path));
    return true;
  };
  if (COVE_TRY(link())) return {};
  if (options_.parents < 0 && !options_.lowest) {
    report_.needs_parents = true;
    return {};
  }
  if (options_.parents >= 0) COVE_TRY(copy_from_parents(target));
  if (COVE_TRY(link())) return {};
  return invalid_entry(entry.name, concat("is a hard link to '", target.substr(0, 300), "', which does not exist"));
}

Result<void> LayerWriter::copy_from_parents(const std::string& path) {
  Result<UniqueFd> found = sys::openat2(options_.parents, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, kPlainly);
  if (!found) return {};
  struct stat info = COVE_TRY(sys::fstat(found->get()));
  if (!S_ISREG(info.st_mode)) return {};
  LayerEntry copy;
  copy.name = path;
  copy.mode = info.st_mode & 07777;
  copy.uid = info.st_uid;
  copy.gid = info.st_gid;
  copy.size = static_cast<uint64_t>(info.st_size);
  copy.mtime = info.st_mtim;
  std::string names(64 << 10, '\0');
  ssize_t length = ::flistxattr(found->get(), names.data(), names.size());
  for (const std::string& name :
       split(std::string_view(names).substr(0, static_cast<size_t>(std::max<ssize_t>(length, 0))), '\0')) {
    std::string value(64 << 10, '\0');
    ssize_t size = name.empty() ? -1 : ::fgetxattr(found->get(), name.c_str(), value.data(), value.size());
    if (size >= 0) copy.xattrs.emplace_back(name, value.substr(0, static_cast<size_t>(size)));
  }
  COVE_TRY(count(copy));
  std::string buffer(1 << 20, '\0');
  uint64_t at = 0;
  auto data = [&](std::string_view& piece, uint64_t& offset) -> Result<bool> {
    ssize_t size = ::pread(found->get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (size < 0) return fail_errno(concat("read ", path));
    piece = std::string_view(buffer).substr(0, static_cast<size_t>(size));
    offset = at;
    at += static_cast<uint64_t>(size);
    return size > 0;
  };
  COVE_TRY(take_file(copy, COVE_TRY(place_of(path)), data));
  return info.st_nlink > 1 ? copy_other_names(path, info) : Result<void>();
}

// All names of the file in the layers below become links to the same copy.
Result<void> LayerWriter::copy_other_names(const std::string& path, const struct stat& original) {
  std::vector<std::string> names;
  find_names(options_.parents, "", original, names);
  for (const std::string& name : names) {
    Place place = COVE_TRY(place_of(name));
    if (name == path || stat_at(place.folder, place.name)) continue;
    Result<UniqueFd> folder =
        parent_of(path).empty() ? sys::dup(root_) : sys::openat2(root_, parent_of(path), O_PATH | O_DIRECTORY, kInside);
    if (!folder) return std::unexpected(folder.error());
    if (::linkat(folder->get(), name_of(path).c_str(), place.folder, place.name.c_str(), 0) < 0)
      return fail_errno(concat("link ", name));
    if (++report_.entries > options_.limits.entries) return fail(Code::Exhausted, "the layer has too many entries");
  }
  return {};
}

// --- what a layer takes away
// ---------------------------------------------------------------------------------------------

Result<void> LayerWriter::take_whiteout(const std::string& path) {
  std::string name = name_of(path);
  std::string folder = parent_of(path);
  if (name == kOpaque) {
    COVE_TRY(open_parent(folder));
    return mark_opaque(folder);
  }
  if (name.starts_with(kReserved)) return {};  // reserved by other tools
  std::string hidden = name.substr(kWhiteout.size());
  if (hidden.empty() || hidden == "." || hidden == "..")
    return invalid_entry(path, "is a whiteout without a valid name");
  Place place = COVE_TRY(place_of(folder.empty() ? hidden : concat(folder, "/", hidden)));
  std::optional<struct stat> there = stat_at(place.folder, place.name);
  // Entries of this layer are kept in any order: only those of the layers below are removed.
  if (there && S_ISDIR(there->st_mode)) return mark_opaque(place.path);
  if (there) return {};
  if (::mknodat(place.folder, place.name.c_str(), S_IFCHR, makedev(0, 0)) < 0)
    return fail(
        Error::from_errno(errno, concat("mark ", place.path, " as removed")).hint("Linux 5.8 or later is required"));
  return {};
}

Result<void> LayerWriter::mark_opaque(const std::string& path) {
  UniqueFd folder = COVE_TRY(sys::dup(root_));
  if (!path.empty()) {
    Result<UniqueFd> opened = sys::openat2(root_, path, O_RDONLY | O_DIRECTORY, kPlainly);
    if (!opened) return invalid_entry(path, "is hidden through a link");
    folder = std::move(*opened);
  }
  if (options_.opaque == OpaqueMark::Reported) {
    opaque_.insert(path);
    return {};
  }
  if (::fsetxattr(folder.get(), "user.overlay.opaque", "y", 1, 0) < 0)
    return fail_errno(concat("mark ", path, " as opaque"));
  return {};
}

// --- what a file has beside its data
// -----------------------------------------------------------------------------------

Result<void> LayerWriter::set_owner(int folder, const std::string& name, const LayerEntry& entry) {
  if (options_.owners == Owners::Ours) return {};
  const bool out_of_range = entry.uid > kHighestId || entry.gid > kHighestId;
  if (out_of_range) ++report_.owners_out_of_range;
  auto user = entry.uid > kHighestId ? kNobody : static_cast<uint32_t>(entry.uid);
  auto group = entry.gid > kHighestId ? kNobody : static_cast<uint32_t>(entry.gid);
  if (::fchownat(folder, name.c_str(), user, group, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
    return fail_errno(concat("chown ", entry.name.substr(0, 300)));
  return {};
}

Result<void> LayerWriter::set_attributes(int file, const LayerEntry& entry) {
  for (const auto& [name, value] : entry.xattrs) {
    if (!is_kept_attribute(name)) {
      ++report_.attributes_left_out;
      continue;
    }
    if (::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    // The file system does not support the attribute or has no room for it; capabilities have no effect in a sandbox
    // anyway.
    if (errno != EPERM && errno != ENOTSUP && errno != EINVAL && errno != ERANGE && errno != E2BIG && errno != ENODATA)
      return fail_errno(concat("set the attribute ", name, " of ", entry.name.substr(0, 300)));
    ++report_.attributes_left_out;
  }
  return {};
}

Result<LayerReport> LayerWriter::finish() {
  parent_.reset();
  if (options_.parents < 0 && !implied_.empty()) report_.needs_parents = true;
  // Deepest folders first: entries of a folder sort after it.
  for (auto each = folder_times_.rbegin(); each != folder_times_.rend(); ++each) {
    if (each->first.empty()) {
      COVE_TRY(set_times(root_, ".", each->second));
      continue;
    }
    Result<UniqueFd> folder = sys::openat2(root_, each->first, O_RDONLY | O_DIRECTORY, kInside);
    struct timespec times[] = {each->second, each->second};
    if (folder && ::futimens(folder->get(), times) < 0) return fail_errno(concat("futimens ", each->first));
  }
  report_.opaque_folders.assign(opaque_.begin(), opaque_.end());
  return report_;
}

}  // namespace cove::unpack
