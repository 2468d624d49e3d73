#include "net/gateway/socks.h"

#include <gtest/gtest.h>

namespace cove::net {
namespace {

using State = SocksReader::State;
using namespace std::string_literals;

const std::string kGreeting = "\x05\x01\x00"s;
const std::string kByName = "\x05\x01\x00\x03\x08pypi.org\x01\xbb"s;

struct Outcome {
  State state = State::NeedsMore;
  std::string replies;
  std::string rest;
  SocksReader::Request request;
};
// The bytes, cut into pieces of that size.
Outcome feed(std::string_view bytes, size_t piece) {
  SocksReader reader;
  Outcome outcome;
  while (!bytes.empty() && outcome.state == State::NeedsMore) {
    std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    auto step = reader.feed(next);
    outcome.state = step.state;
    outcome.replies += step.reply;
    outcome.rest = next;
  }
  outcome.rest += bytes;
  outcome.request = reader.request();
  return outcome;
}
Outcome feed(std::string_view bytes) { return feed(bytes, bytes.size()); }

TEST(Socks, ARequestByNameIsReadHoweverItIsSplit) {
  std::string bytes = kGreeting + kByName + "first bytes";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Outcome outcome = feed(bytes, piece);
    EXPECT_EQ(outcome.state, State::Done) << piece;
    EXPECT_EQ(outcome.replies, "\x05\x00"s) << piece;
    EXPECT_EQ(outcome.request.host, "pypi.org") << piece;
    EXPECT_EQ(outcome.request.port, 443) << piece;
    EXPECT_EQ(outcome.rest, "first bytes") << piece;
  }
}

TEST(Socks, EveryCutNeedsMore) {
  std::string bytes = kGreeting + kByName;
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(feed(bytes.substr(0, size)).state, State::NeedsMore);
}

TEST(Socks, AnyPasswordIsTaken) {
  std::string bytes = "\x05\x01\x02"s + "\x01\x04user\x06secret" + kByName;
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Outcome outcome = feed(bytes, piece);
    EXPECT_EQ(outcome.state, State::Done);
    EXPECT_EQ(outcome.replies, "\x05\x02\x01\x00"s);
  }
}

TEST(Socks, AddressesOfBothKinds) {
  EXPECT_EQ(feed(kGreeting + "\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"s).request.address,
            parse_address("192.0.2.1").value());
  std::string six = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x01";
  EXPECT_EQ(feed(kGreeting + "\x05\x01\x00\x04"s + six + "\x00\x50"s).request.address,
            parse_address("2001:db8::1").value());
}

TEST(Socks, RefusesWhatItIsNotFor) {
  struct {
    std::string bytes;
    std::string reply;
  } cases[] = {
      {"\x04\x01\x00\x50\xc0\x00\x02\x01\x00"s, ""},
      {"GET / HTTP/1.1\r\n", ""},
      {"\x05\x01\x01"s, "\x05\xff"s},
      {"\x05\x00"s, "\x05\xff"s},
      {kGreeting + "\x05\x03\x00\x01"s + std::string(6, '\0'),
       "\x05\x00"s + SocksReader::reply(SocksReader::Reply::CommandUnsupported)},
      {kGreeting + "\x05\x02\x00\x01"s + std::string(6, '\0'),
       "\x05\x00"s + SocksReader::reply(SocksReader::Reply::CommandUnsupported)},
      {kGreeting + "\x05\x01\x00\x09"s, "\x05\x00"s + SocksReader::reply(SocksReader::Reply::AddressUnsupported)},
      {kGreeting + "\x05\x01\x00\x03\x00\x00\x50"s, "\x05\x00"s + SocksReader::reply(SocksReader::Reply::Denied)},
      {kGreeting + "\x05\x01\x00\x03\x0dpypi.org\0evil\x00\x50"s,
       "\x05\x00"s + SocksReader::reply(SocksReader::Reply::Denied)},
      {"\x05\x01\x02"s + "\x02\x04user", "\x05\x02"s},
  };
  for (const auto& c : cases) {
    for (size_t piece : {size_t{1}, c.bytes.size()}) {
      Outcome outcome = feed(c.bytes, piece);
      EXPECT_EQ(outcome.state, State::Failed) << c.bytes;
      EXPECT_EQ(outcome.replies, c.reply) << c.bytes;
    }
  }
}

}  // namespace
}  // namespace cove::net
