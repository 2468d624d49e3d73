#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/gateway/connector.h"
#include "net/gateway/flow.h"
#include "net/gateway/http_flow.h"

namespace cove::net {

// A connection whose HTTP requests are read one by one: what its HttpFlow needs of the sandbox.
class HttpSession final : public Flow, private FlowContext {
 public:
  // A connection to the order's server that was already made, for the first time that the flow asks for one.
  struct Upstream {
    UniqueFd fd;
    Target target;
    Flow* log = nullptr;  // of the one that made it
  };
  // The sandbox owns it.
  static void start(SandboxNetwork& sandbox, HttpFlow::Order order, Upstream upstream);

  HttpSession(SandboxNetwork& sandbox, Upstream upstream);
  ~HttpSession() override;
  void policy_changed() override;
  void cut(const Verdict& reason) override;
  bool undecided() const override { return false; }

 private:
  Verdict decide(const Target& target) override;
  void failed(const Target& target, const Verdict& verdict) override;
  void connect(const Target& target, std::function<void(Result<UniqueFd>)> connected) override;
  void count(uint64_t in_bytes, uint64_t out_bytes) override { count_bytes(in_bytes, out_bytes); }
  const EffectivePolicy& policy() const override;
  GatewayTls& tls() override;
  bool over_budget() const override;
  void closed() override;

  Result<UniqueFd> connect_internal();
  void connect_anew(const Target& target, std::function<void(Result<UniqueFd>)> connected);
  Result<UniqueFd> finish_connect(Target target, std::expected<Connected, ConnectFailure> result);
  bool take_upstream(const Target& target, UniqueFd& fd);

  Upstream upstream_;
  std::optional<Address> address_;  // of the server that it is connected to
  uint64_t last_connect_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Connector>> connectors_;
  std::shared_ptr<HttpSession*> self_;  // for calls that may come after the end
  std::unique_ptr<HttpFlow> http_;      // destroyed first
};

}  // namespace cove::net
