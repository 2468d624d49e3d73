// The answer of a process 1, which a program inside may have taken over, to the question which ports are listened at.
#include "engine/preview/listening_port.h"
#include "messages.h"
#include "runtime/inside.h"

namespace {

using namespace cove;
using namespace cove::fuzz;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Peer inside;
  UniqueFd socket = inside.take_first();
  for (const Piece& piece : split_pieces({reinterpret_cast<const char*>(data), size}))
    inside.say(piece.content, piece.about % 4);
  inside.end();
  auto sockets = read_ports(socket.get(), std::chrono::milliseconds(0));
  if (!sockets) return 0;
  require(sockets->size() <= wire::kMaxPorts);
  uint16_t last = 0;
  for (const engine::ListeningPort& port : engine::listening_ports(*sockets, {})) {
    require(port.port > last && !port.address.empty());
    last = port.port;
  }
  return 0;
}
