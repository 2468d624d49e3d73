#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove::http {

// The server's end of a WebSocket connection, used by one thread. Pings and the peer's close are answered within `wait`
// and `receive`. Messages are at most 16 MiB. Whoever breaks the protocol is told so and is gone.
class WebSocket {
 public:
  enum class Kind { Text, Binary };
  struct Message {
    Kind kind = Kind::Text;
    std::string data;
  };
  enum class Wake { Message, Fd, Timeout, Gone, Stopping };

  virtual ~WebSocket() = default;
  // Waits until a whole message can be received without blocking, `fd` is readable, nothing more will come (Gone: also
  // after the peer's close), time is up, or the server is stopping (again at each call). Messages and `fd` take turns
  // where there are both.
  virtual Wake wait(int fd, std::chrono::milliseconds patience) = 0;
  // The message that `wait` told of. (Without, it waits for one, for as long as the server's patience.)
  virtual Result<Message> receive() = 0;
  virtual Result<void> send(Kind kind, std::string_view data) = 0;
  virtual Result<void> ping() = 0;
  // The peer has sent a close frame: it did not just vanish.
  virtual bool peer_closed() const = 0;
  // Sends a close frame; nothing may be sent after it. Without, the destructor does: 1000, or 1001 when stopping.
  virtual void close(uint16_t code, std::string_view reason) = 0;
};

}  // namespace cove::http
