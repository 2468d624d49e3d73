#pragma once

#include <string>

#include "base/result.h"
#include "model/sandbox.h"
#include "runtime/view.h"

namespace cove::engine {

// Where a sandbox has what its programs trust besides the system's store.
inline constexpr const char* kTrustFolder = "/etc/cove";
inline constexpr const char* kTrustCertificate = "/etc/cove/authority.crt";   // the sandbox's own authority alone
inline constexpr const char* kTrustBundle = "/etc/cove/ca-certificates.crt";  // the system's, and this
inline constexpr const char* kTrustJava = "/etc/cove/cacerts";                // the same, for Java

// Has the programs of a sandbox trust its authority, besides those that its image trusts: in the system's store, where
// there is one, and in files of its own. As root; may be called again with another certificate.
Result<void> install_trust(View& view, const std::string& certificate, int64_t now_ms);

// The variables by which programs find these files that do not go by the system's store. A variable that is there
// already stays as it is; to Java's options, the store is added where they name none.
void add_trust_variables(Environment& env);

}  // namespace cove::engine
