#pragma once

#include <cstdint>

namespace cove::net {

// What the ruleset and the sockets of a sandbox's namespace have in common.

// The gateway's answers carry this mark, so that they are never steered back to it.
inline constexpr uint32_t kAnswerMark = 0xc0e;

// Stands for the port of the sockets in the generated ruleset, until it is known.
inline constexpr uint16_t kPortPlaceholder = 0xfe5a;

}  // namespace cove::net
