#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::net {

// Attributes of a request, one after the other; nested ones may begin with a header.
class Attributes {
 public:
  Attributes() = default;
  Attributes(const void* header, size_t size) { append(header, size); }
  void add(uint16_t type, const void* data, size_t size);
  void add(uint16_t type, const Attributes& nested) { add(type, nested.bytes().data(), nested.bytes().size()); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void append(const void* data, size_t size);
  std::vector<uint8_t> bytes_;
};

// Requests to the kernel's routing tables, one message after the other.
class NetlinkBatch {
 public:
  // Begins a request, which is acknowledged.
  void begin(uint16_t type, uint16_t flags, const void* header, size_t size);
  // Appends an attribute to the request.
  void attribute(uint16_t type, const void* data, size_t size);

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  uint32_t requests() const { return requests_; }

 private:
  void append(const void* data, size_t size);
  nlmsghdr* current() { return reinterpret_cast<nlmsghdr*>(bytes_.data() + begin_); }

  std::vector<uint8_t> bytes_;
  size_t begin_ = 0;
  uint32_t requests_ = 0;
};

// Sends them; the first error fails, but for what exists already where that is accepted.
enum class Existing { Accepted, Refused };
Result<void> ask(const NetlinkBatch& batch, const char* attempt, Existing existing);

// Sends messages over a netlink socket of that protocol; the error number of each answer, in their order: 0 for
// success.
Result<std::vector<int>> talk(int protocol, std::span<const uint8_t> messages);

}  // namespace cove::net
