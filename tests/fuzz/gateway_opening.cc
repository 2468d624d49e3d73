// The first bytes of a connection: at once and in pieces they must be taken for the same, and what every server takes
// for a request is never taken for anything else.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/gateway/opening_reader.h"

namespace {

using namespace cove;
using namespace cove::net;
using State = OpeningReader::State;

void require(bool held) {
  if (!held) std::abort();
}

const HelloParser& parser() {
  static const HelloParser it = HelloParser::create().value();
  return it;
}

struct Outcome {
  State state = State::NeedsMore;
  Hello hello;
};

Outcome read(std::string_view bytes, size_t piece, Server server) {
  OpeningReader reader(parser());
  Outcome outcome;
  for (size_t at = 0; at < bytes.size() && outcome.state == State::NeedsMore; at += piece)
    outcome.state = reader.add(bytes.substr(at, piece), server);
  if (outcome.state == State::Tls) outcome.hello = reader.hello();
  return outcome;
}

bool is_plain_request(std::string_view bytes) {
  auto end = bytes.find("\r\n");
  return bytes.starts_with("GET /") && end != bytes.npos && bytes.substr(0, end).ends_with(" HTTP/1.1") &&
         bytes.substr(0, end).find_first_not_of("abcdefghijklmnopqrstuvwxyz/ GETHP1.") == bytes.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > OpeningReader::kMost) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] + size_t{1};
  const Outcome whole = read(bytes, bytes.size() + 1, Server::Silent);
  const Outcome pieces = read(bytes, piece, Server::Silent);
  require(whole.state == pieces.state);
  require(whole.hello.name == pieces.hello.name && whole.hello.encrypted == pieces.hello.encrypted);
  require(!is_plain_request(bytes) || whole.state == State::Http);
  (void)read(bytes, piece, Server::Spoke);
  return 0;
}
