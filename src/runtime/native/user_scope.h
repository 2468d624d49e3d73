#pragma once

namespace cove::native {

// Asks the user's systemd to put this process into a scope of its own whose control group it may divide. False where
// there is no such systemd, or it refuses; nothing has changed then.
bool enter_user_scope();

}  // namespace cove::native
