// Answers of a view, which a program inside may have taken over, to the server that asked it for files.
#include "messages.h"
#include "runtime/native/socket_view.h"

namespace {

using namespace cove;
using namespace cove::fuzz;

constexpr size_t kOperations = 8;

void ask(View& view, size_t operation) {
  switch (operation) {
    case 0:
      if (auto fd = view.open("f", O_RDONLY)) require(fd->valid());
      return;
    case 1:
      return static_cast<void>(view.stat("f", Links::Keep));
    case 2:
      return static_cast<void>(view.list("d"));
    case 3:
      return static_cast<void>(view.glob("*", "d"));
    case 4:
      return static_cast<void>(view.readlink("l"));
    case 5:
      if (view.watch("d", 1)) require(view.events_fd() >= 0);
      return;
    case 6:
      return static_cast<void>(view.unwatch(1));
    default:
      return static_cast<void>(view.mkdir("d", 0755, Depth::One));
  }
}

}  // namespace

// The first byte says which operation begins.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Peer inside;
  native::SocketView view(inside.take_first());
  for (const Piece& piece : split_pieces({reinterpret_cast<const char*>(data) + 1, size - 1}))
    inside.say(piece.content, piece.about % 4);
  inside.end();
  for (size_t i = 0; i < kOperations; ++i) ask(view, (data[0] + i) % kOperations);
  return 0;
}
