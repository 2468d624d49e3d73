#include "conformance/spawned.h"

#include <unistd.h>

#include "runtime/native/spawn_client.h"
#include "runtime/native/spawn_server.h"
#include "sys/socket.h"

namespace cove::test {
namespace {

// Serves like cove-spawn, in a process of its own; ends with the channel.
void serve(UniqueFd channel) {
  Result<native::Places> places = native::find_places();
  if (!places) ::_exit(1);
  native::SpawnServer server(std::move(channel), native::Walls(*places, native::IdRanges::AsTheKernelCan), {});
  static_cast<void>(server.run(-1));
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<Runtime>> make_spawned() {
  sys::SocketPair channel = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) {
    channel.first.reset();
    serve(std::move(channel.second));
  }
  channel.second.reset();
  return native::make_spawned_runtime(native::SpawnClient::create(std::move(channel.first), [] {}));
}

}  // namespace cove::test
