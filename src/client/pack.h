#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "client/body.h"
#include "tar/writer.h"

namespace cove::client {

// Told what was left out, and why.
using LeftOut = std::function<void(const std::string& path, const std::string& why)>;

// An archive that is sent as the body of a request.
Result<tar::Writer> archive_to(BodyWriter& body);

// A file or a folder of this machine as entries of an archive, `name` the first of them. A link at `path` itself is
// followed, those below are kept; what is neither file, folder nor link is left out. A file that shrinks meanwhile is
// Invalid.
Result<void> pack(tar::Writer& archive, const std::string& path, const std::string& name, const LeftOut& left_out);

}  // namespace cove::client
