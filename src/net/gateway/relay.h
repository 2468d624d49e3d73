#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "net/gateway/loop.h"
#include "net/gateway/pipe_pool.h"

namespace cove::net {

// Moves bytes between a program inside and a server outside, by splice, until both have ended their side, or one has
// cut the connection. What it holds is bounded: one pipe for each way, and the sockets' own buffers.
//
// Both sockets have SO_LINGER {1, 0}, so that they are reset when the gateway dies, or when the relay is destroyed
// before its orderly end.
class Relay {
 public:
  enum class End { Orderly, Reset };
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void moved(uint64_t in_bytes, uint64_t out_bytes) = 0;
    // Called once. The owner destroys the relay later, not from here.
    virtual void ended(End end) = 0;
  };
  // Whether what the program inside sends is forwarded.
  enum class Outbound { Open, Held };

  // Holds what the program sends until `forward` opens the way.
  Relay(Loop& loop, PipePool& pipes, Owner& owner, UniqueFd inside, UniqueFd outside);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The sockets are watched by the owner: for EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET.
  void on_inside(uint32_t events);
  void on_outside(uint32_t events);
  // Forwards these bytes, which were read from the program before; and with Outbound::Open all that follow.
  void forward(std::string first_bytes, Outbound outbound);
  // Whether the server has sent anything.
  bool server_spoke() const { return inbound_.moved > 0 || inbound_.held > 0; }

  int inside() const { return inside_.get(); }
  int outside() const { return outside_.get(); }

 private:
  struct Way {
    int from = -1;
    int to = -1;
    std::string first;  // to be written before what is in the pipe
    std::optional<Pipe> pipe;
    size_t held = 0;  // bytes in the pipe
    uint64_t moved = 0;
    bool open = true;
    bool ended = false;  // `from` sends no more
    bool shut = false;   // and `to` was told
  };
  enum class Step { Moved, Nothing, Failed };

  void on_events(uint32_t events, Way& source, Way& sink);
  void pump(Way& way);
  bool pump_turn(Way& way, uint64_t& moved);
  Step write_first(Way& way);
  Step fill(Way& way);
  Step drain(Way& way);
  void settle(Way& way);
  void count(const Way& way, uint64_t moved);
  void pump_later(Way& way);
  void end(End how);

  Loop& loop_;
  PipePool& pipes_;
  Owner& owner_;
  UniqueFd inside_;
  UniqueFd outside_;
  Way inbound_;
  Way outbound_;
  bool over_ = false;
  std::shared_ptr<Relay*> self_;  // for calls that may come after the end
};

// Makes the socket end with a reset unless it is told to end in order.
void reset_on_close(int socket);
void end_in_order(int socket);

}  // namespace cove::net
