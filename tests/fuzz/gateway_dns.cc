// A DNS message, as a program's question and as a resolver's answer.
#include <cstdint>
#include <string>

#include "messages.h"
#include "net/gateway/dns_message.h"

namespace {

using namespace cove::net;
using cove::fuzz::require;

uint16_t field(std::string_view message, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(message[at]) << 8 | static_cast<uint8_t>(message[at + 1]));
}

// Whatever is answered is a message to the same question, which another parser can read.
void check_reply(const dns::Question& question, const std::string& reply) {
  require(reply.size() >= dns::kHeaderSize + question.wire.size());
  require(field(reply, 0) == question.id && (field(reply, 2) & 0x8000));
  require(reply.compare(dns::kHeaderSize, question.wire.size(), question.wire) == 0);
}

void take_question(std::string_view message) {
  dns::Asked asked = dns::parse_question(message);
  if (!asked.question) {
    require(asked.reply.empty() || asked.reply.size() == dns::kHeaderSize);
    return;
  }
  const dns::Question& question = *asked.question;
  require(question.name.size() <= 254 && question.udp_size >= 512);
  for (char c : question.name)
    require(c == '?' || c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'));
  check_reply(question, dns::reply_to(question, dns::Code::NoName));
  dns::Record record = {dns::kA, 10, dns::address_data(parse_address("198.18.0.1").value())};
  std::string reply = dns::reply_to(question, dns::Code::NoError, {record});
  check_reply(question, reply);
  if (question.is_host && question.klass == dns::kInternet) {
    auto found = dns::parse_addresses(reply, question.name, dns::kA);
    require(found && found->addresses.size() == 1 && found->ttl == 10);
  }
  static_cast<void>(dns::reversed_address(question.name));
  static_cast<void>(dns::name_data(question.name));
}

void take_answer(std::string_view message) {
  for (uint16_t type : {dns::kA, dns::kAaaa}) {
    auto found = dns::parse_addresses(message, "a.example", type);
    if (!found) continue;
    require(found->addresses.size() <= dns::kMostAddresses);
    for (const auto& address : found->addresses) require(type == dns::kAaaa || address.is_v4());
  }
  // The question that the answer repeats, if it does.
  std::string question(message.substr(0, std::min<size_t>(message.size(), 512)));
  if (question.size() < dns::kHeaderSize) return;
  question[2] = 1;
  for (size_t at = 6; at < dns::kHeaderSize; ++at) question[at] = 0;
  for (size_t size = dns::kHeaderSize + 5; size <= question.size(); ++size) {
    dns::Asked asked = dns::parse_question(std::string_view(question).substr(0, size));
    if (!asked.question) continue;
    std::string reply = dns::forwarded_reply(*asked.question, message, 512);
    require(reply.size() <= 512);
    if (!reply.empty()) check_reply(*asked.question, reply);
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view message(reinterpret_cast<const char*>(data), size);
  take_question(message);
  take_answer(message);
  return 0;
}
