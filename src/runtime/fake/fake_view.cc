#include "runtime/fake/fake_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove::fake {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::unexpected<Error> failed(int errnum, const std::string& what) { return fail(Error::from_errno(errnum, what)); }

std::unexpected<Error> nothing_like_it() {
  return fail(Code::Unsupported, "the fake machine's file systems know files and folders, and nothing else");
}

}  // namespace

Result<UniqueFd> FakeView::open(const std::string& path, int flags, mode_t) {
  std::lock_guard lock(world_.mutex);
  auto found = place_->files.find(path);
  if (found == place_->files.end()) {
    if ((flags & O_CREAT) == 0 || !place_->folders.contains(folder_of(path))) return failed(ENOENT, path);
    UniqueFd file(::memfd_create("file", MFD_CLOEXEC));
    if (!file) return fail_errno("memfd_create");
    found = place_->files.emplace(path, std::move(file)).first;
  } else if ((flags & O_EXCL) != 0) {
    return failed(EEXIST, path);
  }
  return sys::open(sys::fd_path(found->second.get()), flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW));
}

Result<FileEntry> FakeView::entry_of(const std::string& path) const {
  FileEntry entry;
  entry.name = path.substr(path.rfind('/') + 1);
  if (place_->folders.contains(path)) {
    entry.mode = S_IFDIR | 0755;
    return entry;
  }
  auto found = place_->files.find(path);
  if (found == place_->files.end()) return failed(ENOENT, path);
  struct stat info = {};
  if (::fstat(found->second.get(), &info) < 0) return fail_errno("fstat");
  entry.mode = S_IFREG | 0644;
  entry.size = static_cast<uint64_t>(info.st_size);
  return entry;
}

Result<FileEntry> FakeView::stat(const std::string& path, Links) {
  std::lock_guard lock(world_.mutex);
  return entry_of(path);
}

Result<std::vector<FileEntry>> FakeView::list(const std::string& path) {
  std::lock_guard lock(world_.mutex);
  if (!place_->folders.contains(path)) return failed(ENOENT, path);
  std::vector<FileEntry> entries;
  for (const auto& [each, file] : place_->files)
    if (folder_of(each) == path) entries.push_back(COVE_TRY(entry_of(each)));
  for (const std::string& each : place_->folders)
    if (each != "/" && folder_of(each) == path) entries.push_back(COVE_TRY(entry_of(each)));
  return entries;
}

Result<void> FakeView::mkdir(const std::string& path, mode_t, Depth depth) {
  std::lock_guard lock(world_.mutex);
  if (depth == Depth::One && place_->folders.contains(path)) return failed(EEXIST, path);
  if (depth == Depth::One && !place_->folders.contains(folder_of(path))) return failed(ENOENT, path);
  for (std::string each = path; each != "/"; each = folder_of(each)) place_->folders.insert(each);
  return {};
}

Result<void> FakeView::remove(const std::string& path, Depth depth) {
  std::lock_guard lock(world_.mutex);
  const std::string inside = path + "/";
  const bool empty =
      std::ranges::none_of(place_->files, [&](const auto& each) { return each.first.starts_with(inside); });
  if (depth == Depth::One && !empty) return failed(ENOTEMPTY, path);
  if (place_->files.erase(path) + place_->folders.erase(path) == 0) return failed(ENOENT, path);
  std::erase_if(place_->files, [&](const auto& each) { return each.first.starts_with(inside); });
  std::erase_if(place_->folders, [&](const auto& each) { return each.starts_with(inside); });
  return {};
}

Result<void> FakeView::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(world_.mutex);
  auto found = place_->files.find(from);
  if (found == place_->files.end() || !place_->folders.contains(folder_of(to))) return failed(ENOENT, from);
  UniqueFd file = std::move(found->second);
  place_->files.erase(found);
  place_->files[to] = std::move(file);
  return {};
}

Result<void> FakeView::chmod(const std::string&, mode_t) { return nothing_like_it(); }
Result<std::string> FakeView::readlink(const std::string&) { return nothing_like_it(); }
Result<void> FakeView::symlink(const std::string&, const std::string&) { return nothing_like_it(); }
Result<int> FakeView::watch(const std::string&, uint32_t) { return nothing_like_it(); }
Result<void> FakeView::unwatch(int) { return nothing_like_it(); }
Result<std::vector<FileEntry>> FakeView::glob(const std::string&, const std::string&) { return nothing_like_it(); }

}  // namespace cove::fake
