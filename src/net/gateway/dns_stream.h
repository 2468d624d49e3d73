#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "net/gateway/dns_server.h"
#include "net/gateway/loop.h"

namespace cove::net {

// DNS over TCP: each message behind its length in two bytes.
class DnsStreams {
 public:
  static constexpr size_t kMost = 64;  // connections; more are closed at once
  static constexpr std::chrono::seconds kIdle{10};

  DnsStreams(Loop& loop, DnsServer& server) : loop_(loop), server_(server) {}
  ~DnsStreams();
  void add(UniqueFd client);

 private:
  struct Stream {
    UniqueFd fd;
    std::string in;
    std::string out;
    size_t waiting = 0;  // questions without an answer yet
    bool ended = false;  // the client asks nothing more
    uint64_t timer = 0;
  };
  using Streams = std::map<uint64_t, Stream>;

  void serve(uint64_t number, uint32_t events);
  bool read(Stream& stream);
  void ask_all(uint64_t number);
  void ask_later(uint64_t number);
  void answer(uint64_t number, std::string_view message);
  bool write(Stream& stream);
  void rearm(uint64_t number, Stream& stream);
  void remove(uint64_t number);

  Loop& loop_;
  DnsServer& server_;
  uint64_t last_ = 0;
  Streams streams_;
  // Replies may come when this is gone.
  std::shared_ptr<DnsStreams*> self_ = std::make_shared<DnsStreams*>(this);
};

}  // namespace cove::net
