#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>

#include "net/rule.h"

namespace cove::net {

// An address and a port, as the kernel takes and gives them.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const Address& address, uint16_t port) {
    if (address.is_v4()) {
      auto& four = reinterpret_cast<sockaddr_in&>(storage_);
      four.sin_family = AF_INET;
      four.sin_port = htons(port);
      std::memcpy(&four.sin_addr, address.bytes.data() + 12, 4);
    } else {
      auto& six = reinterpret_cast<sockaddr_in6&>(storage_);
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(port);
      std::memcpy(&six.sin6_addr, address.bytes.data(), 16);
    }
  }

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }
  // To be filled in by the kernel.
  sockaddr_storage& storage() { return storage_; }

  Address address() const {
    Address address;
    if (family() == AF_INET) {
      address.bytes[10] = address.bytes[11] = 0xff;
      std::memcpy(address.bytes.data() + 12, &reinterpret_cast<const sockaddr_in&>(storage_).sin_addr, 4);
    } else {
      std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr, 16);
    }
    return address;
  }
  uint16_t port() const { return ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port); }  // the same in both

 private:
  sockaddr_storage storage_ = {};
};

}  // namespace cove::net
