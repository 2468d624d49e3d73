#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/rule.h"

// Messages of DNS (RFC 1035), as bytes: what programs inside ask, what they are answered, and what resolvers answer.
namespace cove::net::dns {

enum Type : uint16_t {
  kA = 1,
  kCname = 5,
  kPtr = 12,
  kAaaa = 28,
  kOpt = 41,
  kSvcb = 64,
  kHttps = 65,
  kIxfr = 251,
  kAny = 255,
};
enum class Code : uint8_t {
  NoError = 0,
  FormatError = 1,
  ServerFailure = 2,
  NoName = 3,
  NotImplemented = 4,
  Refused = 5
};

inline constexpr uint16_t kInternet = 1;  // the class
inline constexpr size_t kHeaderSize = 12;
inline constexpr size_t kMostOverTcp = 65535;  // also of what a resolver may answer
inline constexpr uint16_t kOwnUdpSize = 1232;  // that fits in any packet

struct Question {
  uint16_t id = 0;
  uint16_t flags = 0;  // as they came
  // Lower case, labels joined by dots, without a final one; the root is "".
  std::string name;
  // Whether it has only letters, digits, '-' and '_'. If not, no host has that name, and `name` shows these bytes as
  // '?'.
  bool is_host = true;
  uint16_t type = 0;
  uint16_t klass = 0;
  bool extended = false;    // with EDNS
  uint16_t udp_size = 512;  // how large an answer over UDP may be
  std::string wire;         // the question's section, as it came
};

// What a message asks; else what it is to be answered with, which may be nothing: answers, and what has no header.
struct Asked {
  std::optional<Question> question;
  std::string reply;
};
Asked parse_question(std::string_view message);

struct Record {
  uint16_t type = 0;
  uint32_t ttl = 0;
  std::string data;
};
std::string address_data(const Address& address);             // of an A or AAAA record
std::optional<std::string> name_data(std::string_view name);  // of a PTR record; nothing where it is no name
std::string reply_to(const Question& question, Code code, const std::vector<Record>& records = {});
// A resolver's answer to the same question, as the one that asked must see it; cut down to `most` bytes by
// truncation. Empty where it is no answer to it.
std::string forwarded_reply(const Question& question, std::string_view answer, size_t most);

// What a resolver answered to a question for addresses.
struct Addresses {
  Code code = Code::ServerFailure;
  std::vector<Address> addresses;
  uint32_t ttl = 0;  // the smallest of those that led to them
};
// Follows the aliases from `name`. Nothing where the message is malformed. At most kMostAddresses are taken.
inline constexpr size_t kMostAddresses = 64;
std::optional<Addresses> parse_addresses(std::string_view message, const std::string& name, uint16_t type);

// The address that "4.3.2.1.in-addr.arpa" or the like under ip6.arpa asks for.
std::optional<Address> reversed_address(std::string_view name);

}  // namespace cove::net::dns
