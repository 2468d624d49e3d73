#pragma once

#include "init/supervisor.h"

// How process 1 begins.
namespace cove::init {

// By the letters of protocol.h.
Mode parse_mode(const char* letters);

// First of all: closed to everybody's eyes, with a name, and with signals as programs expect them to begin with.
void become_process_one();

// On the host's kernel, with the descriptors of protocol.h: puts up the fences while the walls rise, and serves the
// sandbox until its end. `door`: the way in, in an engine's container; -1 elsewhere. Returns where it cannot begin.
int serve_sandbox(const Mode& mode, int door);

// 0 to 2 are what it was started with; from here on they lead nowhere.
bool use_null_streams();

}  // namespace cove::init
