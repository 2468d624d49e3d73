#pragma once

#include <expected>

#include "http/request_parser.h"

namespace cove::http {

// Fills the path, the query and the framing of a head whose target and headers are there, and refuses what two parsers
// could read in two ways: a body with two lengths, no or two hosts, malformed escapes.
std::expected<void, Malformed> complete(Head& head);

}  // namespace cove::http
