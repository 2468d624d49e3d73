#pragma once

namespace cove::native {

// Asks the user's systemd to move this process into a scope with a delegated control group. False, with nothing
// changed, if there is no user systemd or it refuses.
bool enter_user_scope();

}  // namespace cove::native
