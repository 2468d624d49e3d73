#pragma once

#include "init/supervisor.h"

// The start of process 1.
namespace cove::init {

// Parses the letters of protocol.h.
Mode parse_mode(const char* letters);

// The first step: makes the process untraceable, names it, and sets signals to the defaults that programs expect.
void become_process_one();

// On the host's kernel, with the descriptors of protocol.h: applies the restrictions while the sandbox is being built,
// and serves the sandbox until its end. `connection`: from receive_descriptors in an engine's container; otherwise -1.
// Returns only if it cannot start.
int serve_sandbox(const Mode& mode, int connection);

// Redirects 0 to 2 to /dev/null.
bool use_null_streams();

}  // namespace cove::init
