#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "change/base_record.h"
#include "runtime/runtime.h"

namespace cove::engine {

// How long a record is waited for.
struct RecordPatience {
  std::chrono::milliseconds time{60'000};
  int peer = -1;  // the socket of whoever wants it: nobody waits for it any more when he has gone; -1: nobody knows
};

// Has the runtime record what a workspace is like, and keeps the record in `folder`, which is made. Whatever the
// reason, nothing is left there where it fails, and nothing runs any more. Unsupported where the folder is too large.
Result<change::BaseHead> record_base(Runtime& runtime, const Workspace& workspace, const std::string& folder,
                                     const RecordPatience& patience = {});

}  // namespace cove::engine
