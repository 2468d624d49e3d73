#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove::net {

// The certificate authority of one sandbox, PEM. Programs inside trust the certificate; the key never enters.
struct Authority {
  std::string certificate;
  std::string key;
};
// The key follows from the seed (32 bytes, secret), and so do the certificate's serial number and key identifier: one
// that is made again for the same sandbox and times may stand for the one before, though its signature is another one.
Result<Authority> make_authority(std::string_view seed, const std::string& sandbox, int64_t not_before_ms,
                                 int64_t not_after_ms);

}  // namespace cove::net
