// What listens in a sandbox, and connections to it.
#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "engine/live_engine.h"
#include "runtime/inside.h"

namespace cove::engine {
namespace {

constexpr std::chrono::seconds kDialPatience(5);
constexpr std::chrono::seconds kPortsPatience(3);
constexpr size_t kMostRules = 1024;  // of one sandbox

Result<void> check_reachable(const Capabilities& can) {
  if (can.dial) return {};
  return fail(Code::Unsupported,
              concat("the runtime ", can.name, " has a network stack of its own: its ports cannot be reached"));
}

}  // namespace

Result<Engine::Connection> LiveEngine::connect(const Caller& caller, const std::string& name, uint16_t port) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  COVE_TRY(check_reachable(capabilities(sandbox->info().spec.runtime)));
  std::shared_ptr<void> use = COVE_TRY(begin_use(caller, sandbox));
  const std::string attempt = concat("connect to port ", port, " of sandbox ", sandbox->id());
  std::optional<Error> refused;
  for (Loopback loopback : {Loopback::Four, Loopback::Six}) {
    Result<UniqueFd> socket = sandbox->dial(port, loopback);
    Result<void> outcome = socket ? finish_dial(socket->get(), kDialPatience) : std::unexpected(socket.error());
    if (outcome) return Connection{std::move(*socket), std::move(use)};
    // Without IPv6 in the sandbox the second attempt says nothing: the first one's error is told.
    if (!refused) refused = outcome.error();
    if (refused->errnum() != ECONNREFUSED) break;
  }
  if (refused->errnum() == 0) return fail(std::move(*refused).note(attempt));
  if (refused->errnum() == ECONNREFUSED)
    return fail(Error::from_errno(ECONNREFUSED, concat("nothing listens at port ", port, " of sandbox ", sandbox->id()))
                    .as(Code::Conflict)
                    .hint(concat("start a server in the sandbox that listens at 127.0.0.1:", port)));
  return fail(Error::from_errno(refused->errnum(), attempt).as(Code::Unavailable));
}

Result<std::vector<ListeningPort>> LiveEngine::ports(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Read));
  const SandboxInfo info = sandbox->info();
  COVE_TRY(check_reachable(capabilities(info.spec.runtime)));
  if (info.state != State::Running)
    return fail(
        Error(Code::Conflict, concat("list the ports of sandbox ", sandbox->id(), ": it is ", state_name(info.state)))
            .hint(info.state == State::Paused ? "resume it first" : "start it first"));
  UniqueFd answers = COVE_TRY(sandbox->ask_ports());
  return listening_ports(COVE_TRY(read_ports(answers.get(), kPortsPatience)), info);
}

Result<PortRule> LiveEngine::set_port_access(const Caller& caller, const std::string& name, uint16_t port,
                                             PortAccess access) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  SandboxInfo info = sandbox->info();
  if (info.state == State::Deleting) return fail(Code::NotFound, concat("there is no sandbox '", name, "'"));
  if (!info.ports.contains(port) && info.ports.size() >= kMostRules)
    return fail(Code::Exhausted, concat("the access of ", kMostRules, " ports of sandbox ", sandbox->id(), " was set"));
  PortRule& rule = info.ports[port];
  rule = {access, rule.generation + 1};
  const PortRule set = rule;
  Json data = {{"port", port}, {"access", port_access_name(access)}};
  COVE_TRY(record(caller, *sandbox, std::move(info), "sandbox.port_access", data.dump()));
  return set;
}

}  // namespace cove::engine
