#include "runtime/native/own_folders.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::native {
namespace {

// The last names of a path.
Result<std::string> last_names(const std::string& path, size_t count) {
  size_t start = path.size();
  for (; count > 0 && start != path.npos && start > 0; --count) start = path.rfind('/', start - 1);
  if (count > 0 || start >= path.size()) return fail(Code::Internal, concat("find the place of ", path));
  return path.substr(start + 1);
}

// One line of mountinfo: "36 35 98:0 ROOT POINT rw,noatime …"
struct MountLine {
  std::string id;
  std::string device;
  std::string root;  // in its file system
  std::string point;
};

// Spaces and backslashes in paths are written as octal escapes there.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

Result<std::vector<MountLine>> read_mounts() {
  std::vector<MountLine> mounts;
  for (const std::string& line : split(COVE_TRY(sys::read_file("/proc/self/mountinfo")), '\n')) {
    std::vector<std::string> words = split(line, ' ');
    if (words.size() > 5) mounts.push_back({words[0], words[2], unescape(words[3]), unescape(words[4])});
  }
  return mounts;
}

// The rest of a path below a folder, "" or beginning with a slash; empty if it is not below it.
std::optional<std::string> rest_below(const std::string& folder, const std::string& path) {
  if (folder == "/") return path == "/" ? "" : path;
  if (!path.starts_with(folder)) return std::nullopt;
  std::string rest = path.substr(folder.size());
  return rest.empty() || rest.starts_with('/') ? std::optional(rest) : std::nullopt;
}

// Other paths through which a folder, or a part of it, can be reached: through bind mounts, and through subvolumes
// whose file system is also mounted as a whole.
Result<std::vector<std::string>> other_paths(int folder, const std::string& path) {
  std::vector<MountLine> mounts = COVE_TRY(read_mounts());
  std::string id;
  for (const std::string& line : split(COVE_TRY(sys::read_file(concat("/proc/self/fdinfo/", folder))), '\n'))
    if (line.starts_with("mnt_id:")) id = trim(line.substr(std::string_view("mnt_id:").size()));
  auto own = std::ranges::find(mounts, id, &MountLine::id);
  // In a chroot the mount that contains it may not be listed.
  std::optional<std::string> below = own == mounts.end() ? std::nullopt : rest_below(own->point, path);
  if (!below) return std::vector<std::string>();
  const std::string place = own->root == "/" ? (below->empty() ? "/" : *below) : own->root + *below;
  std::vector<std::string> paths;
  for (const MountLine& mount : mounts) {
    if (mount.device != own->device) continue;
    std::optional<std::string> rest = rest_below(mount.root, place);
    if (rest)
      paths.push_back(mount.point == "/" ? *rest : mount.point + *rest);
    else if (rest_below(place, mount.root))
      paths.push_back(mount.point);
  }
  std::erase(paths, path);
  return paths;
}

std::unexpected<Error> refuse(const std::string& path, const std::string& own) {
  return fail(Error(Code::Denied, concat(path, " cannot be a workspace: Cove keeps its own files in ", own))
                  .hint("choose a folder that neither contains that one nor is inside it; one that contains it can be "
                        "mounted read-only (`ro`) with the native runtime"));
}

}  // namespace

Result<std::vector<std::string>> own_folders(const Places& places) {
  return std::vector{COVE_TRY(sys::find_folder(sys::kStateFolder)), places.cache, places.lock_folder,
                     places.run_folder};
}

Result<OwnFolders::FileId> OwnFolders::id_of(int folder) {
  struct stat info = COVE_TRY(sys::fstat(folder));
  return FileId(info.st_dev, info.st_ino);
}

Result<std::vector<OwnFolders::FileId>> OwnFolders::line_of(int folder) {
  std::vector<FileId> line = {COVE_TRY(id_of(folder))};
  UniqueFd here = COVE_TRY(sys::dup(folder));
  while (true) {
    here = COVE_TRY(sys::openat(here.get(), "..", O_PATH | O_DIRECTORY));
    FileId above = COVE_TRY(id_of(here.get()));
    if (above == line.back()) return line;
    line.push_back(above);
  }
}

Result<OwnFolders> OwnFolders::look(const std::vector<std::string>& paths) {
  OwnFolders own;
  for (const std::string& path : paths) {
    Result<UniqueFd> folder = sys::open(path, O_PATH | O_DIRECTORY);
    if (!folder && folder.error().code() == Code::NotFound) continue;
    if (!folder) return std::unexpected(folder.error());
    const std::string real = COVE_TRY(sys::readlink(sys::fd_path(folder->get())));
    own.folders_.push_back({real, COVE_TRY(line_of(folder->get()))});
    for (const std::string& other : COVE_TRY(other_paths(folder->get(), real))) {
      // A folder that this process cannot reach cannot be reached by a workspace with its rights either.
      Result<UniqueFd> same = sys::open(other, O_PATH | O_DIRECTORY);
      if (same) own.folders_.push_back({other, COVE_TRY(line_of(same->get()))});
    }
  }
  return own;
}

Result<void> OwnFolders::check(int folder, const Workspace& workspace) const {
  const std::vector<FileId> line = COVE_TRY(line_of(folder));
  for (const Folder& own : folders_) {
    if (std::ranges::find(line, own.line.front()) != line.end()) return refuse(workspace.path, own.path);
    const bool holds = std::ranges::find(own.line, line.front()) != own.line.end();
    if (holds && workspace.access != Access::ReadOnly) return refuse(workspace.path, own.path);
  }
  return {};
}

Result<std::vector<std::string>> OwnFolders::find_in(int workspace) const {
  const FileId id = COVE_TRY(id_of(workspace));
  std::vector<std::string> paths;
  for (const Folder& own : folders_) {
    auto found = std::ranges::find(own.line, id);
    if (found == own.line.end()) continue;
    paths.push_back(COVE_TRY(last_names(own.path, static_cast<size_t>(found - own.line.begin()))));
  }
  return paths;
}

}  // namespace cove::native
