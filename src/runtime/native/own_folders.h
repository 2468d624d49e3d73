#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/sandbox.h"
#include "runtime/native/native_runtime.h"

namespace cove::native {

// The paths of Cove's own folders, which no sandbox may see: state, images, sockets.
Result<std::vector<std::string>> own_folders(const Places& places);

// These folders, located with the rights of this process.
class OwnFolders {
 public:
  static Result<OwnFolders> look(const std::vector<std::string>& paths);

  // Denied if a workspace is inside one of them, or contains one and has an access with which it cannot be hidden: a
  // writable folder could be moved together with its contents. `folder` must be opened by its path, because the parents
  // of a detached mount are not visible.
  Result<void> check(int folder, const Workspace& workspace) const;

  // The paths, below the workspace, of the folders it contains: they must be covered in a workspace that is mounted
  // `ro`.
  Result<std::vector<std::string>> find_in(int workspace) const;

 private:
  using FileId = std::pair<dev_t, ino_t>;
  struct Folder {
    std::string path;          // without links
    std::vector<FileId> line;  // the folder and its parents up to the root
  };
  static Result<FileId> id_of(int folder);
  static Result<std::vector<FileId>> line_of(int folder);

  std::vector<Folder> folders_;
};

}  // namespace cove::native
