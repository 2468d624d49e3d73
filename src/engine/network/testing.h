#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/network/networks.h"

namespace cove::engine {

// A gateway in memory: what it was told, and what a test has it tell. Thread-safe.
class FakeNet : public std::enable_shared_from_this<FakeNet> {
 public:
  MakeGateway maker();
  // Another server's: it knows no sandbox.
  void begin_anew();

  bool attached(const std::string& sandbox) const;
  // In force; none where nothing is served.
  std::optional<net::EffectivePolicy> policy(const std::string& sandbox) const;
  size_t policies_set(const std::string& sandbox) const;
  size_t syncs() const;

  void refuse_attach(std::optional<Error> error);
  void refuse_policy(std::optional<Error> error);

  void set_counters(const std::string& sandbox, net::NetworkCounters counters);
  void tell(net::NetworkEntry entry);
  void ask_for_access(const std::string& sandbox, const std::string& host, uint16_t port, const std::string& reason);
  // Entries as the gateway writes them.
  static net::NetworkEntry denied(const std::string& sandbox, const std::string& host, uint16_t port,
                                  const std::string& layer = "sandbox", const std::string& code = "not_allowed");
  static net::NetworkEntry opened(const std::string& sandbox, const std::string& host, uint16_t port,
                                  const std::string& rule, uint64_t connection = 1);
  static net::NetworkEntry closed(const std::string& sandbox, uint64_t connection = 1);

 private:
  class Gateway;
  struct Box {
    bool attached = false;
    std::optional<net::EffectivePolicy> policy;
    size_t policies = 0;
    net::NetworkCounters counters;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Box> boxes_;
  std::shared_ptr<net::Gateway::Listener> listener_;
  std::optional<Error> attach_error_;
  std::optional<Error> policy_error_;
  size_t syncs_ = 0;
};

}  // namespace cove::engine
