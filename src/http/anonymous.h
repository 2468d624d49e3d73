#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

namespace cove::http {

class Stream;

// Bounds for connections on which no request has shown yet who is asking (Exchange::vouch).
struct AnonymousLimits {
  size_t most = 256;
  size_t most_of_one_address = 64;
  // For the TLS handshake, for the head of a request, and between two requests.
  std::chrono::milliseconds patience{5'000};
};

// The connections of strangers at one listener. Where there are too many, the oldest of the address with the most of
// them makes room: a client with a key shows it within milliseconds, so it stays, and a crowd that only connects drives
// itself out.
class AnonymousClients {
 public:
  explicit AnonymousClients(const AnonymousLimits& limits) : limits_(limits) {}
  // The connection that has to end for this one, if there is one; it is forgotten.
  Stream* add(Stream& stream, const sockaddr_storage& address);
  void remove(const Stream& stream);

 private:
  struct One {
    Stream* stream;
    std::string address;
  };
  std::deque<One>::iterator first_of_most_crowded();

  const AnonymousLimits limits_;
  std::deque<One> all_;  // in the order of their coming
};

}  // namespace cove::http
