#pragma once

// A container engine passes no descriptors to process 1. So process 1 receives them over a socket that is mounted into
// the container, once, before anything else runs there.
namespace cove::init {

// Connects to the socket at `path` and receives the descriptors of protocol.h and the id of `user`. Returns the
// connection, which is closed on exec, or -1 on failure.
int receive_descriptors(const char* path, unsigned& user);

// Reports that process 1 is ready, and the Landlock ABI it found; then closes the connection.
void report_ready(int connection);

// Adds `user` and its home, which every image of Cove has and others may lack.
int add_user(unsigned id);

}  // namespace cove::init
