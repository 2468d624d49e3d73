#pragma once

#include <string>

#include "auth/keys.h"
#include "store/records.h"

namespace cove {

// Who asks for something, and what he may do.
struct Caller {
  std::string actor = "server";  // "uid:1000", "key:ab12cd34", "token:SANDBOX"
  std::string project = kDefaultProject;
  bool local = false;  // over the Unix socket
  Scopes scopes;
  std::string only_sandbox;  // a token's: the id of the one sandbox that there is for it
  int connection = -1;       // local: his connection's descriptor; his own rights decide about folders of the host
  int peer = -1;  // his connection's descriptor, local or not, while he waits: its end tells that he has gone
};

// The server itself, which may do everything in the project.
inline Caller server_in(const std::string& project) {
  Caller server;
  server.project = project;
  server.scopes = Scopes({Scope::Admin});
  return server;
}

}  // namespace cove
