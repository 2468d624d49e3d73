#pragma once

// The way in for a process 1 that somebody else's container engine has started, which passes no descriptors on: it asks
// for them at a socket that was mounted into the container, once, before anything else runs there.
namespace cove::init {

// Connects to the socket at `path` and takes the descriptors of protocol.h from whoever listens there, and what `user`
// is to be. The connection, which is closed on exec, or -1 where there is nobody.
int enter_by_door(const char* path, unsigned& user);

// Tells that process 1 stands, and behind which fences; then the door is closed.
void close_door(int door);

// What every image of Cove's own has, and others may lack: `user`, and a home for it.
int add_user(unsigned id);

}  // namespace cove::init
