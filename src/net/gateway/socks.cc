#include "net/gateway/socks.h"

#include <algorithm>

namespace cove::net {
namespace {

constexpr char kVersion = 5;
constexpr char kPasswordVersion = 1;
constexpr char kNoPassword = 0;
constexpr char kWithPassword = 2;
constexpr char kNoMethod = '\xff';
constexpr char kConnect = 1;
constexpr char kIpv4 = 1;
constexpr char kName = 3;
constexpr char kIpv6 = 4;
constexpr size_t kRequestHead = 4;

size_t length(char byte) { return static_cast<uint8_t>(byte); }

std::string choice(char method) { return {kVersion, method}; }

Address mapped(std::string_view bytes) {
  Address address;
  if (bytes.size() == 4) address.bytes[10] = address.bytes[11] = 0xff;
  std::copy(bytes.begin(), bytes.end(), address.bytes.end() - static_cast<ptrdiff_t>(bytes.size()));
  return address;
}

}  // namespace

std::string SocksReader::reply(Reply code) {
  std::string out = {kVersion, static_cast<char>(code), 0, kIpv4};
  return out.append(6, '\0');  // the address and port that were bound: of no use to the client
}

SocksReader::Step SocksReader::feed(std::string_view& input) {
  std::string replies;
  while (!input.empty()) {
    begun_ += input.front();
    input.remove_prefix(1);
    if (begun_[0] != (stage_ == Stage::Password ? kPasswordVersion : kVersion))
      return fail(std::move(replies), "it is not SOCKS5");
    if (size_of_stage() != begun_.size()) continue;
    Step step = stage_ == Stage::Greeting   ? take_greeting()
                : stage_ == Stage::Password ? take_password()
                                            : take_request();
    begun_.clear();
    replies += step.reply;
    if (step.state != State::NeedsMore) return {step.state, std::move(replies), std::move(step.why)};
  }
  return {State::NeedsMore, std::move(replies), {}};
}

std::optional<size_t> SocksReader::size_of_stage() const {
  if (begun_.size() < 2) return std::nullopt;
  if (stage_ == Stage::Greeting) return 2 + length(begun_[1]);
  if (stage_ == Stage::Password) {
    size_t name = 2 + length(begun_[1]);
    if (begun_.size() <= name) return std::nullopt;
    return name + 1 + length(begun_[name]);
  }
  if (begun_.size() < kRequestHead) return std::nullopt;
  switch (begun_[3]) {
    case kIpv4:
      return kRequestHead + 4 + 2;
    case kIpv6:
      return kRequestHead + 16 + 2;
    case kName:
      if (begun_.size() == kRequestHead) return std::nullopt;
      return kRequestHead + 1 + length(begun_[kRequestHead]) + 2;
    default:
      return kRequestHead;  // refused as soon as that is known
  }
}

SocksReader::Step SocksReader::take_greeting() {
  std::string_view methods = std::string_view(begun_).substr(2);
  bool none = methods.find(kNoPassword) != methods.npos;
  if (!none && methods.find(kWithPassword) == methods.npos)
    return fail(choice(kNoMethod), "it offers no way of authentication that is known here");
  stage_ = none ? Stage::Request : Stage::Password;
  return {State::NeedsMore, choice(none ? kNoPassword : kWithPassword), {}};
}

SocksReader::Step SocksReader::take_password() {
  stage_ = Stage::Request;
  return {State::NeedsMore, {kPasswordVersion, 0}, {}};
}

SocksReader::Step SocksReader::take_request() {
  std::string_view request = begun_;
  if (request.size() == kRequestHead)
    return fail(reply(Reply::AddressUnsupported), "the kind of its address is unknown");
  note_place(request);
  if (request[1] != kConnect)
    return fail(reply(Reply::CommandUnsupported), "SOCKS5 is for CONNECT only, not for BIND or UDP");
  if (request[2] != 0) return fail(reply(Reply::Failed), "the request is malformed");
  if (!request_.address && (request_.host.empty() || request_.host.find('\0') != std::string::npos))
    return fail(reply(Reply::Denied), "what it names is no host");
  return {State::Done, {}, {}};
}

void SocksReader::note_place(std::string_view request) {
  std::string_view place = request.substr(kRequestHead, request.size() - kRequestHead - 2);
  request_.port = static_cast<uint16_t>(length(request[request.size() - 2]) << 8 | length(request.back()));
  if (request[3] == kName)
    request_.host = place.substr(1);
  else
    request_.address = mapped(place);
}

SocksReader::Step SocksReader::fail(std::string reply, std::string why) {
  return {State::Failed, std::move(reply), std::move(why)};
}

}  // namespace cove::net
