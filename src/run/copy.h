#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run_once.h"
#include "runtime/view.h"

namespace cove {

// Copies files and folders of the caller into a sandbox. Relative destinations start at `cwd`.
Result<void> copy_in(View& view, const CopyIn& order, const std::string& cwd);
Result<void> write_inline(View& view, const InlineFile& file);

// Copies files of a sandbox to the caller. Links are never followed and never copied; only files and folders are
// copied. Fails with Exhausted if there are more than `room` bytes; `room` is reduced by what was copied.
struct CopiedOut {
  std::vector<OutputFile> files;
  std::vector<Denial> left_out;
};
Result<void> copy_out(View& view, const CopyOut& order, const std::string& cwd, uint64_t& room, CopiedOut& copied);

}  // namespace cove
