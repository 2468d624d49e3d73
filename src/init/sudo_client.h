#pragma once

namespace cove::init {

// The whole of `sudo` inside a sandbox; returns its exit code.
int sudo_main(char** argv);

}  // namespace cove::init
