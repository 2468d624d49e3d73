#include "runtime/native/own_folders.h"

#include <fcntl.h>

#include <algorithm>

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

std::unexpected<Error> refuse(const std::string& path, const std::string& own) {
  return fail(Error(Code::Denied, concat(path, " cannot be a workspace: Cove keeps its own files in ", own))
                  .hint("choose a folder that neither contains that one nor lies in it; one that contains it can be "
                        "shown read-only (`ro`) with the runtime native"));
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
    own.folders_.push_back({COVE_TRY(sys::readlink(sys::fd_path(folder->get()))), COVE_TRY(line_of(folder->get()))});
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
