// Frames of a client and of a server, whole and in pieces: what comes out must be the same, and within the rules.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/encoding.h"
#include "http1/websocket_frame.h"

namespace {

using namespace cove::http1;

constexpr uint64_t kMostMessage = 4096;

void require(bool held) {
  if (!held) std::abort();
}

void check(const FrameReader::Event& event) {
  require(event.opcode != Opcode::Continuation);
  require(event.data.size() <= (event.opcode >= Opcode::Close ? 125 : kMostMessage));
  if (event.opcode == Opcode::Text || event.opcode == Opcode::Close) require(cove::is_utf8(event.data));
}

// All that comes out of the input, given in pieces of `step` bytes.
std::string read_all(std::string_view input, size_t step, FrameReader::From from) {
  FrameReader reader(from, kMostMessage);
  std::string out;
  while (!input.empty()) {
    std::string_view piece = input.substr(0, step);
    input.remove_prefix(piece.size());
    while (!piece.empty()) {
      auto event = reader.feed(piece);
      if (!event) return out + "violation " + std::to_string(event.error().code) + event.error().reason;
      if (!*event) continue;
      check(**event);
      out += std::to_string(static_cast<int>((*event)->opcode)) + " " + std::to_string((*event)->close_code) +
             (*event)->data;
      out += '\n';
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  for (auto from : {FrameReader::From::Client, FrameReader::From::Server}) {
    std::string whole = read_all(input, size + 1, from);
    require(whole == read_all(input, 1, from));
    require(whole == read_all(input, 7, from));
  }
  std::string closing = close_payload(1000, input);
  require(closing.size() <= 125 && cove::is_utf8(std::string_view(closing).substr(2)));
  // What is masked comes back as it was.
  FrameReader reader(FrameReader::From::Client, size);
  std::string frame = masked_frame(Opcode::Binary, input, {1, 2, 3, 4});
  std::string_view rest = frame;
  auto event = reader.feed(rest);
  require(event && *event && (*event)->data == input && rest.empty());
  return 0;
}
