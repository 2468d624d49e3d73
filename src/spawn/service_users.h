#pragma once

#include "base/result.h"
#include "spawn/callers.h"

namespace cove::spawn {

// The users of Cove's unprivileged programs if this process is root: a system user of that name or, where there is
// none, an id that no other user has. Otherwise, the user itself.
UserCredentials server_user();           // "cove"
Result<UserCredentials> gateway_user();  // "cove-gateway"; Invalid if it is root or the server's user

}  // namespace cove::spawn
