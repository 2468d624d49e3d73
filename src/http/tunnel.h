#pragma once

#include <string_view>

namespace cove::http {

// A connection that has been switched to another protocol: its bytes as they are, used by one thread.
class Tunnel {
 public:
  virtual ~Tunnel() = default;
  // Moves bytes between the peer and `socket`, a connected stream socket, both ways until both sides have ended, one of
  // them is gone, or the server stops. An end is passed on as one. At most 64 KiB wait in each direction, and behind
  // `early`, which was read from the socket already.
  virtual void relay(int socket, std::string_view early = {}) = 0;
};

}  // namespace cove::http
