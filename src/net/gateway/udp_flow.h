#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/gateway/packet.h"
#include "net/gateway/resolver.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

// The datagrams between one socket inside and one server: relayed by a socket outside that is connected to it.
class UdpFlow {
 public:
  struct Owner {
    virtual ~Owner() = default;
    // To the program inside, as if from the server.
    virtual void receive(const UdpFlow& flow, std::string_view payload) = 0;
    virtual void refuse(const UdpFlow& flow) = 0;  // nothing listens there
    virtual void over(UdpFlow& flow) = 0;          // destroys it
  };
  // `source` sent a datagram to `wanted`, which is allowed by what is known of it (`target`).
  UdpFlow(SandboxContext& context, Resolver& resolver, Owner& owner, Endpoint source, Endpoint wanted, Target target,
          const Verdict& verdict);
  ~UdpFlow();
  UdpFlow(const UdpFlow&) = delete;
  UdpFlow& operator=(const UdpFlow&) = delete;

  void send(std::string payload);
  bool is_still_allowed() const;
  const Endpoint& source() const { return source_; }
  const Endpoint& wanted() const { return wanted_; }
  Loop::Clock::time_point last_used() const { return last_used_; }

 private:
  static constexpr size_t kMostWaiting = 8;  // datagrams, until the name is resolved

  void begin();
  void settle(const Resolution& resolution);
  bool connect_to_one(const std::vector<Address>& addresses);
  bool connect_to(const Address& address);
  void read();
  bool read_one();
  void log(NetworkEntry::Stage stage);

  SandboxContext& context_;
  Resolver& resolver_;
  Owner& owner_;
  Endpoint source_;
  Endpoint wanted_;
  Target target_;  // with the address that is used, once there is one
  Verdict verdict_;
  uint64_t number_ = 0;  // in the log; 0: not opened
  uint64_t lookup_ = 0;
  uint64_t timer_ = 0;
  UniqueFd fd_;
  std::vector<std::string> waiting_;
  uint64_t in_bytes_ = 0;
  uint64_t out_bytes_ = 0;
  Loop::Clock::time_point last_used_ = Loop::Clock::now();
};

}  // namespace cove::net
