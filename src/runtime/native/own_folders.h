#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/sandbox.h"
#include "runtime/native/native_runtime.h"

namespace cove::native {

// The paths of the folders in which Cove keeps what no sandbox may see, and which it trusts: state, images, sockets.
Result<std::vector<std::string>> own_folders(const Places& places);

// Where these folders are, as this process found them with its own rights.
class OwnFolders {
 public:
  static Result<OwnFolders> look(const std::vector<std::string>& paths);

  // Denied where a workspace lies in one of them, or holds one and shows it in a way in which it cannot be hidden: a
  // folder that can be written to could be moved away with what it holds. `folder` must be opened by its path, not a
  // detached mount, whose parents nobody can see.
  Result<void> check(int folder, const Workspace& workspace) const;

  // The paths, below the workspace, of those that it holds: they are to be covered in a workspace that is shown `ro`.
  Result<std::vector<std::string>> find_in(int workspace) const;

 private:
  using FileId = std::pair<dev_t, ino_t>;
  struct Folder {
    std::string path;          // without links
    std::vector<FileId> line;  // itself, and all that it lies in, up to the root
  };
  static Result<FileId> id_of(int folder);
  static Result<std::vector<FileId>> line_of(int folder);

  std::vector<Folder> folders_;
};

}  // namespace cove::native
