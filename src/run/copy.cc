#include "run/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr int kMaxDepth = 64;

std::string base_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::string below(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : concat(folder, "/", name);
}

// Copies all bytes; Exhausted if there are more than `room`.
Result<uint64_t> copy_bytes(int from, int to, uint64_t room, const std::string& what) {
  char buffer[65536];
  uint64_t total = 0;
  while (true) {
    ssize_t count = ::read(from, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("read ", what));
    if (count == 0) return total;
    total += static_cast<uint64_t>(count);
    if (total > room)
      return fail(Error(Code::Exhausted, concat("copy ", what, ": exceeds the total size that may be copied out"))
                      .hint("copy fewer or smaller files"));
    COVE_TRY_NOTE(concat("copy ", what), sys::write_all(to, {buffer, static_cast<size_t>(count)}));
  }
}

Result<void> copy_entry_in(View& view, const std::string& source, const std::string& destination, int depth) {
  if (depth > kMaxDepth) return fail(Code::Invalid, concat("copy ", source, ": nested too deeply"));
  struct stat info = COVE_TRY(depth == 0 ? sys::stat(source) : sys::lstat(source));
  if (S_ISLNK(info.st_mode)) return view.symlink(COVE_TRY(sys::readlink(source)), destination);
  if (S_ISDIR(info.st_mode)) {
    COVE_TRY(view.mkdir(destination, info.st_mode & 0777, Depth::Recursive));
    for (const std::string& name : COVE_TRY(sys::list_folder(source)))
      COVE_TRY(copy_entry_in(view, below(source, name), below(destination, name), depth + 1));
    return {};
  }
  if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, concat("copy ", source, ": neither a file nor a folder"));
  UniqueFd from = COVE_TRY(sys::open(source, O_RDONLY));
  UniqueFd to = COVE_TRY(view.open(destination, O_WRONLY | O_CREAT | O_TRUNC, info.st_mode & 0777));
  COVE_TRY(copy_bytes(from.get(), to.get(), UINT64_MAX, source));
  return {};
}

// After another request the view has closed its descriptors of written files: a program that is still open for writing
// could not be executed (ETXTBSY).
Result<void> let_go(View& view, const std::string& path) {
  COVE_TRY(view.stat(path, Links::Keep));
  return {};
}

class Exporter {
 public:
  Exporter(View& view, uint64_t& room, CopiedOut& copied) : view_(view), room_(room), copied_(copied) {}

  // `folder` is open on the host; `name` is one component, whatever the sandbox called it.
  Result<void> copy(const std::string& path, int folder, const std::string& host_folder, const std::string& name,
                    int depth) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || depth > kMaxDepth)
      return leave_out(path, "its name or depth is not acceptable");
    FileEntry entry = COVE_TRY(view_.stat(path, Links::Keep));
    auto mode = static_cast<mode_t>(entry.mode);
    if (S_ISDIR(mode)) return copy_folder(path, folder, below(host_folder, name), name, depth);
    if (S_ISREG(mode)) return copy_file(path, folder, below(host_folder, name), name, mode);
    return leave_out(path, S_ISLNK(mode) ? "it is a link" : "it is neither a file nor a folder");
  }

 private:
  Result<void> leave_out(const std::string& path, const std::string& why) {
    copied_.left_out.push_back({concat("copy out ", path), why});
    return {};
  }

  Result<void> copy_folder(const std::string& path, int folder, const std::string& host_path, const std::string& name,
                           int depth) {
    if (::mkdirat(folder, name.c_str(), 0755) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", host_path));
    UniqueFd inner = COVE_TRY(sys::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    std::vector<FileEntry> entries = COVE_TRY(view_.list(path));
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const FileEntry& entry : entries)
      COVE_TRY(copy(below(path, entry.name), inner.get(), host_path, entry.name, depth + 1));
    return {};
  }

  // Non-blocking, because the target may be a FIFO.
  static Result<UniqueFd> open_target(int folder, const std::string& name, mode_t mode) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
    UniqueFd to = COVE_TRY(sys::openat(folder, name, kFlags, mode & 0755));
    struct stat info = COVE_TRY(sys::fstat(to.get()));
    if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, concat(name, " exists and is not a regular file"));
    return to;
  }

  Result<void> copy_file(const std::string& path, int folder, const std::string& host_path, const std::string& name,
                         mode_t mode) {
    UniqueFd from = COVE_TRY(view_.open(path, O_RDONLY | O_NOFOLLOW));
    struct stat info = COVE_TRY(sys::fstat(from.get()));
    // It may have been replaced since it was checked.
    if (!S_ISREG(info.st_mode)) return leave_out(path, "it is not a regular file");
    UniqueFd to = COVE_TRY_NOTE(concat("copy out to ", host_path), open_target(folder, name, mode));
    uint64_t bytes = COVE_TRY(copy_bytes(from.get(), to.get(), room_, path));
    room_ -= bytes;
    copied_.files.push_back({path, host_path, bytes});
    return {};
  }

  View& view_;
  uint64_t& room_;
  CopiedOut& copied_;
};

}  // namespace

Result<void> copy_in(View& view, const CopyIn& order, const std::string& cwd) {
  std::string destination = order.destination.empty() ? cwd + "/" : order.destination;
  if (!destination.starts_with('/')) destination = below(cwd, destination);
  bool into = destination.ends_with('/');
  if (!into) {
    Result<FileEntry> entry = view.stat(destination, Links::Follow);
    into = entry && S_ISDIR(static_cast<mode_t>(entry->mode));
  }
  if (into) {
    COVE_TRY(view.mkdir(destination, 0755, Depth::Recursive));
    destination = below(destination, base_name(order.source));
  } else if (size_t slash = destination.rfind('/'); slash > 0) {
    COVE_TRY(view.mkdir(destination.substr(0, slash), 0755, Depth::Recursive));
  }
  COVE_TRY_NOTE(concat("copy ", order.source, " in"), copy_entry_in(view, order.source, destination, 0));
  return let_go(view, destination);
}

Result<void> write_inline(View& view, const InlineFile& file) {
  UniqueFd to = COVE_TRY(view.open(file.path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  COVE_TRY(sys::write_all(to.get(), file.data));
  return let_go(view, file.path);
}

Result<void> copy_out(View& view, const CopyOut& order, const std::string& cwd, uint64_t& room, CopiedOut& copied) {
  std::string host_folder = order.folder.empty() ? "." : order.folder;
  COVE_TRY(sys::make_folders(host_folder));
  UniqueFd folder = COVE_TRY(sys::open(host_folder, O_RDONLY | O_DIRECTORY));
  std::vector<FileEntry> matches = COVE_TRY(view.glob(order.glob, cwd));
  std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (matches.empty()) copied.left_out.push_back({concat("copy out ", order.glob), "nothing inside matches it"});
  Exporter exporter(view, room, copied);
  for (const FileEntry& match : matches) {
    std::string path = match.name.starts_with('/') ? match.name : below(cwd, match.name);
    COVE_TRY(exporter.copy(path, folder.get(), host_folder, base_name(match.name), 0));
  }
  return {};
}

}  // namespace cove
