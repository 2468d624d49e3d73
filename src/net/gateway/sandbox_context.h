#pragma once

#include <deque>
#include <string>

#include "net/channel.h"
#include "net/gateway/loop.h"
#include "net/policy.h"

namespace cove::net {

class NameTable;  // names.h: the synthetic addresses that this sandbox was given

inline constexpr size_t kRecentDenials = 32;

// One sandbox, as the parts of the gateway see it. Outlives every object that it made for the sandbox.
class SandboxContext {
 public:
  virtual ~SandboxContext() = default;
  virtual const std::string& id() const = 0;
  virtual Loop& loop() = 0;
  virtual NameTable& names() = 0;
  // The present policy; both change with it.
  virtual const EffectivePolicy& policy() const = 0;
  virtual const CompiledPolicy& rules() const = 0;

  // Decides by the present policy without logging. With `learn`, what no list names is allowed.
  virtual Verdict decide_lookup(const std::string& name) const = 0;
  virtual Verdict decide(const Target& target) const = 0;
  virtual Verdict check_resolved(const Target& target, const Address& address) const = 0;

  // An entry of the log; sandbox and time are filled in. Never blocks.
  virtual void log(NetworkEntry entry) = 0;
  // An entry of the stage Denied, which recent_denials() keeps, too.
  virtual void log_denial(const Target& target, const Verdict& verdict) = 0;
  virtual const std::deque<NetworkEntry>& recent_denials() const = 0;  // the newest last
  // Somebody inside asks for access at http://cove.internal/.
  virtual void request_access(const std::string& host, uint16_t port, const std::string& reason) = 0;

  virtual uint64_t next_connection() = 0;  // a number for entries
  virtual void count(uint64_t in_bytes, uint64_t out_bytes) = 0;
  virtual bool over_budget() const = 0;
};

// Fields of an entry that follow from the target and the verdict.
NetworkEntry entry_of(NetworkEntry::Stage stage, const Target& target, const Verdict& verdict);

}  // namespace cove::net
