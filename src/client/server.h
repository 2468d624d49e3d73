#pragma once

#include <string>

#include "base/result.h"
#include "client/address.h"
#include "client/http.h"

namespace cove::client {

// Which server, and as whom.
struct ServerChoice {
  Address address;
  Identity identity;
  bool own = true;  // the per-user server: started where it is not there
};

// $COVE_HOST, else the per-user server's socket; $COVE_API_KEY; $COVE_PROJECT.
Result<ServerChoice> find_server();

enum class WhenAbsent { Start, Fail };

// A connection to the server. The per-user server is started where it is not there, and replaced where an older cove
// started it; its sandboxes go on meanwhile. Unavailable where nobody answers.
Result<Http> reach_server(const ServerChoice& choice, WhenAbsent when_absent);

// The same without asking who is there: its first answer says it.
Result<Http> connect_server(const ServerChoice& choice, WhenAbsent when_absent);
// Replaces the per-user server if an older cove started it; whether it did.
Result<bool> replace_if_outdated(Http& http);
// Whether the last answer came from a per-user server that is older than this.
bool seems_outdated(const Http& http);

// Versions like "0.10.2", compared number by number; what is none is older than everything.
bool is_older(std::string_view version, std::string_view than);

}  // namespace cove::client
