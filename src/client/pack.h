#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "client/body.h"

namespace cove::client {

// Told what was left out, and why.
using LeftOut = std::function<void(const std::string& path, const std::string& why)>;

// A file or a folder of this machine as tar entries, `name` the first of them. A link at `path` itself is followed,
// those below are kept; what is neither file, folder nor link is left out. The archive's end is the caller's.
Result<void> pack(BodyWriter& body, const std::string& path, const std::string& name, const LeftOut& left_out);

}  // namespace cove::client
