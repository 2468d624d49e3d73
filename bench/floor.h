#pragma once

#include <string>

namespace cove::bench {

// What the kernel asks for a sandbox at least: the same namespaces, kinds of mounts and control groups as one of ours,
// `true` executed in it, and everything gone again, by nothing but the calls for it. `name` is of [a-z0-9-].
void make_and_end_bare_sandbox(const std::string& name);

}  // namespace cove::bench
