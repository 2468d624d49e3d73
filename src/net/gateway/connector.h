#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/unique_fd.h"
#include "net/gateway/loop.h"
#include "net/gateway/resolver.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

struct Connected {
  UniqueFd fd;  // non-blocking
  Address address;
};
struct ConnectFailure {
  std::optional<Verdict> denied;  // every address that the name has was refused; the first refusal
  Error error;
};

// A connection to a target outside that is being made: resolves its name (unless it has none), checks every address by
// the sandbox's present policy, and connects to those that may be reached, the next one starting 250 ms after the
// one before or when that fails.
class Connector {
 public:
  using Done = std::function<void(std::expected<Connected, ConnectFailure>)>;
  static constexpr std::chrono::milliseconds kPatience{20'000};  // in all

  virtual ~Connector() = default;  // gives up: `done` is not called any more
  // `done` is called once, from the loop, never from here; it may destroy the connector. Logs nothing.
  static std::unique_ptr<Connector> start(SandboxContext& context, Resolver& resolver, Target target, Done done);
};

}  // namespace cove::net
