#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "net/gateway/names.h"
#include "net/gateway/sandbox_context.h"
#include "net/own_addresses.h"

// A sandbox as the parts of the gateway see it, without a gateway.
namespace cove::net::testing {

inline Address ip(const std::string& text) { return parse_address(text).value(); }

inline EffectivePolicy policy_of(NetworkTier tier, std::vector<std::string> allow,
                                 std::vector<std::string> block = {}) {
  EffectivePolicy policy;
  policy.version = 1;
  policy.layers.push_back({"sandbox", PolicyLayer::Role::Own, {}});
  policy.layers[0].policy = {.tier = tier, .enabled = true, .allow = std::move(allow), .block = std::move(block)};
  return policy;
}

class TestContext : public SandboxContext {
 public:
  explicit TestContext(EffectivePolicy policy = policy_of(NetworkTier::Standard, {})) { set(std::move(policy)); }
  void set(EffectivePolicy policy) {
    policy_ = std::move(policy);
    rules_ = CompiledPolicy::compile(policy_.layers).value();
  }

  const std::string& id() const override { return id_; }
  Loop& loop() override { return *loop_; }
  NameTable& names() override { return names_; }
  const EffectivePolicy& policy() const override { return policy_; }
  const CompiledPolicy& rules() const override { return rules_; }
  Verdict decide_lookup(const std::string& name) const override { return rules_.decide_lookup(name); }
  Verdict decide(const Target& target) const override { return rules_.decide(target); }
  Verdict check_resolved(const Target& target, const Address& address) const override {
    return rules_.check_resolved(target, address, own_.contains(address));
  }
  void log(NetworkEntry entry) override { logged.push_back(std::move(entry)); }
  void log_denial(const Target& target, const Verdict& verdict) override {
    NetworkEntry entry;
    entry.stage = NetworkEntry::Stage::Denied;
    entry.protocol = target.protocol;
    entry.host = !target.name.empty() ? target.name : target.address ? to_text(*target.address) : "";
    entry.port = target.port;
    entry.why = verdict.why;
    entry.code = verdict.code;
    entry.path = target.path;
    logged.push_back(entry);
    denials_.push_back(std::move(entry));
  }
  const std::deque<NetworkEntry>& recent_denials() const override { return denials_; }
  void request_access(const std::string& host, uint16_t port, const std::string& reason) override {
    requested.push_back(host + ":" + std::to_string(port) + " " + reason);
  }
  uint64_t next_connection() override { return ++connections; }
  void count(uint64_t in_bytes, uint64_t out_bytes) override {
    in += in_bytes;
    out += out_bytes;
  }
  bool over_budget() const override { return over; }

  // Lets the loop turn until the condition holds.
  void wait_until(const std::function<bool()>& holds) {
    bool timed_out = false, done = false;
    uint64_t deadline = loop_->after(std::chrono::seconds(30), [&] { timed_out = true; });
    std::function<void()> look = [&] {
      done = timed_out || holds();
      if (done) return loop_->stop();
      loop_->after(std::chrono::milliseconds(1), look);
    };
    look();
    if (!done) loop_->run();
    loop_->cancel(deadline);
    EXPECT_FALSE(timed_out) << "what was waited for did not come";
  }
  size_t denied(const std::string& host) const {
    size_t count = 0;
    for (const auto& entry : denials_) count += entry.host == host;
    return count;
  }

  std::vector<NetworkEntry> logged;
  std::vector<std::string> requested;
  uint64_t connections = 0, in = 0, out = 0;
  bool over = false;

 private:
  std::string id_ = "testsandbox000000000";
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  NameTable names_;
  OwnAddresses own_ = OwnAddresses::open().value();
  EffectivePolicy policy_;
  CompiledPolicy rules_;
  std::deque<NetworkEntry> denials_;
};

}  // namespace cove::net::testing
