// cove-gateway VERSION: serves the networks of sandboxes. Descriptor 3 is the channel to coved (net/channel.h); when it
// is closed, all connections are reset and the program ends. It is started without privilege (spawn/), and gives up
// files and most system calls before it reads the first message.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "net/gateway/gateway.h"
#include "sys/standard_streams.h"

namespace {

using namespace cove;

Result<void> serve(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], COVE_VERSION) != 0)
    return fail(Error(Code::Conflict, "cove-gateway has a different version")
                    .hint("install all Cove programs of the same version"));
  auto parts = COVE_TRY(net::GatewayServer::open_parts());
  COVE_TRY(net::apply_gateway_fences());
  return net::GatewayServer(std::move(parts), UniqueFd(net::kGatewayChannelFd)).run();
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// The leak checker does not work with these restrictions.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::puts(COVE_VERSION), 0;
  Result<void> served = serve(argc, argv);
  if (served) return 0;
  std::fprintf(stderr, "cove-gateway: %s\n", served.error().message().c_str());
  return 1;
}
