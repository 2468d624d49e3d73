#pragma once

#include <deque>

#include "http/stream.h"

namespace cove::http {

// Connections beyond the cap. Each is told 503 at once, and closed a little later: closing it with the request unread
// would take the answer away from the client.
class Refused {
 public:
  enum class Answer { Yes, No };
  void add(UniqueFd socket, Answer answer);
  void close_old();
  void close_all() { waiting_.clear(); }
  // For a poll: until close_old has something to do; -1 for never.
  int milliseconds_to_next() const;

 private:
  struct Waiting {
    UniqueFd socket;
    Clock::time_point until;
  };
  void close_first();
  std::deque<Waiting> waiting_;
};

}  // namespace cove::http
