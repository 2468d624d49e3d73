#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "base/result.h"
#include "engine/sandbox_info.h"
#include "net/channel.h"
#include "net/gateway_client.h"

namespace cove::engine {

// A denial that was not settled yet, as a proposal that a person approves or rejects.
struct NetworkRequest {
  std::string id;
  std::string sandbox_id;
  std::string session;
  std::string project;
  std::string host;
  uint16_t port = 0;
  std::string rule;    // that would be added: "host:port"
  std::string layer;   // that denied it: rules of others cannot be changed by approving
  std::string reason;  // of who asks inside, or why it was denied
  std::string state = "pending";  // "approved", "rejected"
  std::string decided_by;
  std::string note;
  uint64_t count = 1;  // how often it was denied
  int64_t created_ms = 0;
  int64_t decided_ms = 0;
};
// once: the next connection; session: while the sandbox or session lives; always: the project's own policy.
enum class Approval { Once, Session, Always };

// The networks of sandboxes: their effective policies, what the gateway says of them, and what people decide. Thread-safe.
class Networks {
 public:
  virtual ~Networks() = default;

  // --- for the life of a sandbox -------------------------------------------------------------------------------------
  // Its network is ready when this returns: sockets at the gateway and its policy in force.
  virtual Result<void> begin(const SandboxInfo& sandbox, Sandbox& handle) = 0;
  virtual void end(const std::string& sandbox_id) = 0;
  // The spec, the project's or the server's policy has changed: acts at once.
  virtual Result<void> refresh(const SandboxInfo& sandbox) = 0;

  // --- for an exec ---------------------------------------------------------------------------------------------------
  struct Mark {
    net::NetworkCounters counters;
    uint64_t entry = 0;
  };
  virtual Mark mark(const std::string& sandbox_id) = 0;
  struct Since {
    net::NetworkCounters counters;  // differences
    std::vector<Denial> denials;    // one for each host and port, at most 32
  };
  virtual Since since(const std::string& sandbox_id, const Mark& mark) = 0;

  // --- for people ----------------------------------------------------------------------------------------------------
  struct LogEntry {
    uint64_t seq = 0;
    net::NetworkEntry entry;
  };
  // Those after `after`; `wait` blocks until there is one or the time is over. Kept: the newest 4096 of each sandbox.
  virtual Result<std::vector<LogEntry>> log(const Caller& caller, const std::string& sandbox, uint64_t after, size_t limit,
                                            std::chrono::milliseconds wait) = 0;
  virtual Result<net::Verdict> check(const Caller& caller, const std::string& sandbox, const std::string& host,
                                     uint16_t port) = 0;
  virtual Result<std::vector<NetworkRequest>> requests(const Caller& caller, const std::string& sandbox) = 0;
  // Need the scope `approve`.
  virtual Result<NetworkRequest> approve(const Caller& caller, const std::string& sandbox, const std::string& request,
                                         Approval how) = 0;
  virtual Result<NetworkRequest> reject(const Caller& caller, const std::string& sandbox, const std::string& request,
                                        const std::string& reason) = 0;
};

}  // namespace cove::engine
