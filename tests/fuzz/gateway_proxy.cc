// What a program says to the explicit proxies. The first byte chooses: SOCKS5, whole and byte by byte, which must
// agree; or the head of a CONNECT.
#include <cstdint>
#include <string>

#include "messages.h"
#include "net/gateway/proxy_target.h"
#include "net/gateway/socks.h"

namespace {

using namespace cove::net;
using cove::fuzz::require;

struct Outcome {
  SocksReader::State state = SocksReader::State::NeedsMore;
  std::string replies;
  std::string host;
  std::optional<Address> address;
  uint16_t port = 0;
  size_t taken = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(std::string_view input, size_t piece) {
  SocksReader reader;
  Outcome outcome;
  const size_t size = input.size();
  while (!input.empty() && outcome.state == SocksReader::State::NeedsMore) {
    std::string_view part = input.substr(0, piece);
    const size_t given = part.size();
    auto step = reader.feed(part);
    input.remove_prefix(given - part.size());
    outcome.state = step.state;
    outcome.replies += step.reply;
  }
  outcome.taken = size - input.size();
  if (outcome.state == SocksReader::State::Done) {
    outcome.host = reader.request().host;
    outcome.address = reader.request().address;
    outcome.port = reader.request().port;
  }
  return outcome;
}

void check_target(const cove::Result<Target>& target) {
  if (!target) return;
  require(target->port != 0 && target->name.empty() == target->address.has_value());
  if (!target->name.empty()) require(normalize_name(target->name) == target->name && !looks_numeric(target->name));
}

void take_socks(std::string_view input) {
  Outcome whole = feed(input, input.size());
  require(whole == feed(input, 1) && whole == feed(input, 3));
  if (whole.state != SocksReader::State::Done) return;
  NameTable names;
  require(whole.address.has_value() == whole.host.empty() && whole.host.find('\0') == std::string::npos);
  check_target(whole.address ? proxy_target(*whole.address, whole.port, names)
                             : proxy_target(whole.host, whole.port, names));
  for (char c : shown_host(whole.host)) require(c >= ' ' && c <= '~');
}

void take_connect(std::string_view input) {
  cove::http1::HeadReader head(16 * 1024);
  NameTable names;
  auto read = head.feed(input);
  if (read && *read) check_target(connect_target(head, names));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's')
    take_socks(input);
  else
    take_connect(input);
  return 0;
}
