#pragma once

#include "init/hash_format.h"

namespace cove::init::hashes {

// Gives the program whose memory this process has a seed of its own: `seed` has kSecretSize bytes, `tables` what the
// plan has in the file, `scratch` kMostSetBytes that nobody needs.
void renew_hashes(const Plan& plan, const unsigned char* seed, const void* tables, void* scratch);

}  // namespace cove::init::hashes
