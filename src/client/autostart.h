#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// Starting the per-user server without being asked to.
namespace cove::client {

// Held by whoever starts or replaces the server of a socket, so that many at once do it once. Makes the socket's
// folder.
Result<UniqueFd> lock_start(const std::string& socket);

// Starts `cove-spawn serve --auto`, found beside this program, and returns when it listens. It has a clean environment,
// "/" as its folder, a session of its own, and nothing of the caller's: no terminal, no descriptors, no process group.
// What it has to say goes to server.log in the state folder; where it fails, the last lines of that are in the error.
// Call it with the lock held.
Result<void> start_server(const std::string& socket);

// Asks a server to end and waits until it has.
Result<void> stop_server(pid_t pid);

// The program beside this one, Unavailable where there is none.
Result<std::string> program_beside(const std::string& name);

}  // namespace cove::client
