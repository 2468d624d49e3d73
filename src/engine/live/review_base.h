#pragma once

#include <string>

#include "base/result.h"
#include "change/base_record.h"
#include "runtime/runtime.h"

namespace cove::live {

// Has the runtime record what a workspace is like, and keeps the record in `folder`, which is made. Whatever the
// reason, nothing is left there where it fails.
Result<change::BaseHead> record_base(Runtime& runtime, const Workspace& workspace, const std::string& folder);

}  // namespace cove::live
