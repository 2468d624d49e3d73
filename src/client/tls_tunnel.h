#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "client/address.h"

namespace cove::client {

// A stream socket to a server behind TLS, carried by a `cove-tls` of its own (docs/formats/tls-helper.md). Unavailable
// where the server does not answer, Denied where its certificate is not accepted.
Result<UniqueFd> open_tls_tunnel(const Address& address);

}  // namespace cove::client
