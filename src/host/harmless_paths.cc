#include "host/harmless_paths.h"

#include <linux/openat2.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace cove::harmless {
namespace {

constexpr uint64_t kStayInside = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;

// "/a/b" below "/a" is "b".
Result<std::string> relative_to(const std::string& path, const std::string& folder) {
  if (!path.starts_with(folder) || (path.size() > folder.size() && path[folder.size()] != '/'))
    return fail(Code::Invalid, concat("'", path, "' is not in the workspace"));
  size_t begin = path.find_first_not_of('/', folder.size());
  return begin == path.npos ? "." : path.substr(begin);
}

std::unexpected<Error> cannot_look_at(const std::string& path, const Error& error) {
  switch (error.errnum()) {
    case EXDEV:
      return fail(Code::Invalid, concat("'", path, "' leads out of the workspace"));
    case ELOOP:
      return fail(Code::Invalid, concat("the path '", path, "' contains a link"));
    case ENOENT:
    case ENOTDIR:
      return fail(Code::Invalid, concat("'", path, "' does not exist"));
    default:
      return fail(Code::Invalid, concat("cannot access '", path, "'"));
  }
}

bool is_of_kind(mode_t mode, PathKind kind) {
  switch (kind) {
    case PathKind::File:
      return S_ISREG(mode);
    case PathKind::Tree:
      return S_ISREG(mode) || S_ISDIR(mode);
    case PathKind::Entry:
      return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
  }
  return false;
}

// Spaces and similar characters are written as \040.
std::string as_in_mountinfo(const std::string& path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(c));
      text += octal;
    } else {
      text += c;
    }
  }
  return text;
}

Result<struct stat> check_path(const Place& place, const PathOperand& operand) {
  std::string path = operand.path;
  if (path.starts_with('/'))
    path = COVE_TRY(relative_to(path, place.workspace));
  else
    path = concat(place.below, "/", path);
  // O_NOFOLLOW with O_PATH opens a link at the end itself, so that its type is checked.
  Result<UniqueFd> file = sys::openat2(place.folder, path, O_PATH | O_NOFOLLOW, kStayInside);
  if (!file) return cannot_look_at(operand.path, file.error());
  struct stat info = COVE_TRY(sys::fstat(file->get()));
  if (S_ISLNK(info.st_mode) && operand.kind != PathKind::Entry)
    return fail(Code::Invalid, concat("'", operand.path, "' is a link"));
  if (!is_of_kind(info.st_mode, operand.kind))
    return fail(Code::Invalid, concat("'", operand.path, "' has the wrong type"));
  return info;
}

Error untrusted(const std::string& path, std::string_view why) {
  return Error(Code::Denied, concat("'", path, "' ", why));
}

bool only_root_writes(const struct stat& info) { return info.st_uid == 0 && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

}  // namespace

Result<std::string> find_below(int folder, const std::string& workspace, const std::string& seen_at,
                               const std::string& cwd) {
  if (cwd.empty()) return ".";
  Result<std::string> below = relative_to(cwd, workspace);
  if (!below && !seen_at.empty()) below = relative_to(cwd, seen_at);
  if (!below) return below;
  Result<UniqueFd> opened = sys::openat2(folder, *below, O_PATH | O_DIRECTORY | O_NOFOLLOW, kStayInside);
  if (!opened) return cannot_look_at(cwd, opened.error());
  return below;
}

Result<void> check_mounts(const std::string& workspace) {
  const std::string mounts = COVE_TRY(sys::read_file("/proc/self/mountinfo"));
  const std::string below = concat(" ", as_in_mountinfo(workspace), "/");
  for (const std::string& line : split(mounts, '\n')) {
    // id, parent, device, root, and where it is mounted
    size_t point = 0;
    for (int field = 0; field < 4 && point != line.npos; ++field) point = line.find(' ', point + 1);
    if (point != line.npos && line.compare(point, below.size(), below) == 0)
      return fail(Code::Invalid, "a file system is mounted below the workspace");
  }
  return {};
}

Result<void> check_paths(const Place& place, const std::vector<PathOperand>& paths, uint64_t most_bytes) {
  uint64_t bytes = 0;
  for (const PathOperand& operand : paths) {
    struct stat info = COVE_TRY(check_path(place, operand));
    bytes += S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
    if (bytes > most_bytes) return fail(Code::Invalid, concat("more than ", format_bytes(most_bytes), " to read"));
  }
  return {};
}

Result<UniqueFd> open_trusted_program(const std::string& path, const std::vector<std::string>& folders) {
  std::string folder = path.substr(0, std::min(path.rfind('/'), path.size()));
  if (std::ranges::find(folders, folder) == folders.end())
    return fail(untrusted(path, "is not in a folder of system programs"));
  UniqueFd program = COVE_TRY(sys::open(path, O_PATH));
  // It may be a link: the folder of its target counts.
  std::string real = COVE_TRY(sys::readlink(sys::fd_path(program.get())));
  struct stat around = COVE_TRY(sys::stat(real.substr(0, std::max<size_t>(real.rfind('/'), 1))));
  struct stat info = COVE_TRY(sys::fstat(program.get()));
  if (!S_ISREG(info.st_mode)) return fail(untrusted(path, "is not a program"));
  if (!only_root_writes(info) || !only_root_writes(around))
    return fail(untrusted(path, "is writable by users other than root"));
  return program;
}

Result<std::string> find_trusted_program(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::string path = concat(folder, "/", name);
    Result<UniqueFd> program = open_trusted_program(path, folders);
    if (program) return path;
    if (program.error().code() != Code::NotFound) return fail(std::move(program).error());
  }
  return fail(Code::NotFound, concat("'", name, "' is not installed"));
}

}  // namespace cove::harmless
