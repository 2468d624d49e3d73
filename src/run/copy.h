#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run_once.h"
#include "runtime/view.h"

namespace cove {

// Files of the caller into a sandbox; folders with all that is in them. `cwd` is where relative destinations begin.
Result<void> copy_in(View& view, const CopyIn& order, const std::string& cwd);
Result<void> write_inline(View& view, const InlineFile& file);

// Files of a sandbox to the caller. Links are never followed and never copied; what is neither file nor folder is left
// out. Stops with Exhausted when more than `room` bytes would come; `room` shrinks by what came.
struct CopiedOut {
  std::vector<OutputFile> files;
  std::vector<Denial> left_out;
};
Result<void> copy_out(View& view, const CopyOut& order, const std::string& cwd, uint64_t& room, CopiedOut& copied);

}  // namespace cove
