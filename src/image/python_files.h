#pragma once

#include "base/result.h"
#include "image/skeleton.h"
#include "image/tree_writer.h"

namespace cove {

// What a host image has for each of the host's Pythons:
// - what figures are written with, where they look for modules (see python_library.h);
// - what they do first, appended to the file of /etc that Debian's run when they start (see context/python_start.py),
//   and that file compiled. The host's Python itself compiles it; without that, the sandbox's does at each start, and
//   the log says why.
Result<void> add_python_files(const HostSource& host, const TreeWriter& image);

}  // namespace cove
