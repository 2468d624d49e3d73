// The networks of sandboxes: their sockets are opened by a child that joins a sandbox's namespaces and ends.
#include "base/text.h"
#include "runtime/native/network.h"
#include "spawn/server.h"

namespace cove::spawn {
namespace {

// Each takes about a millisecond, and a server that starts asks for those of all its sandboxes at once.
constexpr size_t kMostOpenings = 1024;

std::vector<int> numbers_of(const std::vector<UniqueFd>& fds) {
  std::vector<int> numbers;
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

}  // namespace

Result<void> SpawnServer::open_network(uint64_t token, wire::Reader& in) {
  LocalResources* resources = COVE_TRY(resources_of(in));
  if (!in.done()) return fail(Code::Invalid, "the request is malformed");
  const int process_1 = COVE_TRY(resources->network_owner());
  const std::string attempt = concat("open the network of sandbox ", resources->spec().id);
  auto open = [&]() -> Result<HelperAnswer> {
    native::NetworkMessage message = native::encode(COVE_TRY_NOTE(attempt, native::join_and_open_network(process_1)));
    return HelperAnswer{std::move(message.text), std::move(message.fds)};
  };
  auto pass_on = [this, token](wire::Reader& answer, const std::vector<UniqueFd>& fds) -> Result<void> {
    wire::Writer rest;
    const uint64_t steering = answer.number();
    rest.number(steering).number(answer.number());
    return done(token, rest, numbers_of(fds));
  };
  return run_helper(token, open, pass_on, kMostOpenings);
}

}  // namespace cove::spawn
