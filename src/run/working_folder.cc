#include "run/working_folder.h"

#include <cerrno>

#include "base/text.h"
#include "runtime/view.h"

namespace cove {

Result<void> make_working_folder(Sandbox& sandbox, const SandboxSpec& spec) {
  const std::string& folder = spec.image_defaults.cwd;
  if (folder.empty() || folder == "/") return {};
  COVE_TRY(sandbox.ready());
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view("root"));
  Result<FileEntry> there = view->stat(folder, Links::Follow);
  if (there || there.error().errnum() != ENOENT) return {};
  COVE_TRY_NOTE(concat("create ", folder, ", the image's working folder"), view->mkdir(folder, 0755, Depth::Recursive));
  return {};
}

}  // namespace cove
