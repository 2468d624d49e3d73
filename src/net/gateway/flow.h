#pragma once

#include <cstdint>
#include <string>

#include "net/gateway/sandbox_context.h"

namespace cove::net {

class SandboxNetwork;

// One connection of a sandbox, which owns it. Destroying it cuts what is open, with a reset.
class Flow {
 public:
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Decides anew by the present policy; ends where it is no longer allowed.
  virtual void policy_changed() = 0;
  // Ends it at once, for that reason; logged as a denial.
  virtual void cut(const Verdict& reason) = 0;
  // Whether nothing is known of it yet: where connections are scarce, such ones give way.
  virtual bool undecided() const = 0;

  uint64_t number() const { return number_; }

 protected:
  explicit Flow(SandboxNetwork& sandbox);

  // Logs a connection that was made, and what it moved until now when it ends.
  void log_opened(const Target& target, const Verdict& verdict);
  void log_closed(const std::string& why = "");
  void log_denied(const Target& target, const Verdict& verdict);
  void count_bytes(uint64_t in_bytes, uint64_t out_bytes);
  bool opened() const { return opened_; }
  // Goes on with the log of that flow, whose connection this one takes over.
  void take_log(Flow& other);
  // The flow is destroyed after the handlers of this turn.
  void finish();

  SandboxNetwork& sandbox_;

 private:
  uint64_t number_;
  bool opened_ = false;
  NetworkEntry entry_;
};

}  // namespace cove::net
