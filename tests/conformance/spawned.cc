#include "conformance/spawned.h"

#include <unistd.h>

#include "spawn/client.h"
#include "spawn/server.h"
#include "sys/socket.h"

namespace cove::test {
namespace {

// Serves like cove-spawn, in a process of its own; ends with the channel.
void serve(UniqueFd channel) {
  Result<native::Places> places = native::find_places();
  if (!places) ::_exit(1);
  spawn::SpawnServer server(std::move(channel), native::SandboxFactory(*places, native::IdRanges::AsTheKernelCan), {});
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
  return spawn::make_spawned_runtime(spawn::SpawnClient::create(std::move(channel.first), [] {}));
}

}  // namespace cove::test
