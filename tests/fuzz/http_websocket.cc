// Frames of a client, whole and in pieces: what comes out must be the same, and within the rules.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/websocket_frame.h"

namespace {

using namespace cove::http;

constexpr uint64_t kMostMessage = 4096;

void require(bool held) {
  if (!held) std::abort();
}

void check(const FrameReader::Event& event) {
  require(event.opcode != Opcode::Continuation);
  require(event.data.size() <= (event.opcode >= Opcode::Close ? 125 : kMostMessage));
  if (event.opcode == Opcode::Text || event.opcode == Opcode::Close) require(valid_utf8(event.data));
}

// All that comes out of the input, given in pieces of `step` bytes.
std::string read_all(std::string_view input, size_t step) {
  FrameReader reader(kMostMessage);
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
  std::string whole = read_all(input, size + 1);
  require(whole == read_all(input, 1));
  require(whole == read_all(input, 7));
  std::string closing = close_frame(1000, input);
  require(closing.size() <= 127 && valid_utf8(std::string_view(closing).substr(4)));
  return 0;
}
