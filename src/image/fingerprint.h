#pragma once

#include <string>

namespace cove {

// 16 hexadecimal digits that change when the host's packages, the parts of /etc that are copied, the layout of its root
// or the sudo client change. A handful of stat calls: it is part of every start.
std::string host_fingerprint(const std::string& host_root, const std::string& sudo_program);

}  // namespace cove
