#pragma once

#include <array>
#include <functional>

#include "net/gateway/loop.h"
#include "net/gateway/wanted_address.h"
#include "net/sockets.h"

namespace cove::net {

// Accepts the connections of one sandbox, in batches.
class Acceptor {
 public:
  // `connection`: takes one over. `exhausted`: there are hardly any descriptors left; whether it could free some.
  struct Calls {
    std::function<void(UniqueFd client, const Wanted& wanted)> connection;
    std::function<bool()> exhausted;
  };
  // Borrows the sockets. Accepted connections end with a reset unless they are told to end in order.
  // `descriptors`: how many the process may have open.
  Acceptor(Loop& loop, const NetworkSockets& sockets, uint64_t descriptors, Calls calls);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void watch();
  void unwatch();
  void accept_batch(int listener);
  bool accept_one(int listener);
  void pause();

  Loop& loop_;
  Steering steering_;
  uint64_t descriptors_;
  std::array<int, 2> listeners_;
  Calls calls_;
  bool over_ = false;
  uint64_t pause_ = 0;  // timer
};

}  // namespace cove::net
