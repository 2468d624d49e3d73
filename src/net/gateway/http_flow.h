#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "net/gateway/loop.h"
#include "net/policy.h"

namespace cove::net {

class GatewayTls;

// What a flow needs of the gateway. Outlives the flow.
class FlowContext {
 public:
  virtual ~FlowContext() = default;
  // Decides by the sandbox's present policy and logs the verdict: a denial, or a request of its own.
  virtual Verdict decide(const Target& target) = 0;
  // Logs, as a denial, what no decision told: an upstream certificate that is not valid, a program that does not trust
  // the sandbox's authority.
  virtual void failed(const Target& target, const Verdict& verdict) = 0;
  // Resolves the name, checks the addresses, connects; logs its failure. The callback comes from the loop, never from
  // within this call, and not after the flow's end; an error says why, for people: Code::Denied where the policy
  // refused the addresses. For kInternalName, the other end of a connection to the internal page.
  virtual void connect(const Target& target, std::function<void(Result<UniqueFd>)> connected) = 0;
  virtual void count(uint64_t in_bytes, uint64_t out_bytes) = 0;
  // The present policy's; changes with it.
  virtual const EffectivePolicy& policy() const = 0;
  // The process's TLS: one object for all flows (see gateway_tls.h).
  virtual GatewayTls& tls() = 0;
  // The budget is used up, or the like: the flow must end.
  virtual bool over_budget() const = 0;
  // The flow is over; called once, never from within one of its own calls by the context.
  virtual void closed() = 0;
};

// HTTP/1.1 between a program inside and servers outside, request by request: each is decided, its placeholders are
// replaced where the connection upstream is TLS to a host of the secret, and values are scrubbed from the answers. Used
// where requests must be read: cleartext HTTP, the explicit proxy's absolute form, and TLS to hosts with brokered
// secrets, which it terminates. Anything malformed ends the connection with 400.
class HttpFlow {
 public:
  enum class Inside {
    Cleartext,  // the client speaks HTTP to `name`
    Proxy,      // the client takes us for its HTTP proxy: absolute form (CONNECT never comes here)
    Tls,        // the client speaks TLS to `name`: intercepted, with a certificate of the sandbox's authority
  };
  struct Order {
    Inside inside = Inside::Cleartext;
    UniqueFd client;          // non-blocking
    std::string first_bytes;  // that were read from it already
    std::string name;         // of the server, decided on before; empty for Proxy
    uint16_t port = 0;
    std::optional<Address> address;  // that the program named itself, with no name
  };
  virtual ~HttpFlow() = default;  // cuts both connections with a reset
  // The target of what is open now, for a decision anew when the policy changes; empty name and address: none.
  virtual Target target() const = 0;

  static std::unique_ptr<HttpFlow> start(Loop& loop, FlowContext& context, Order order);
};

// The answer to a denied request: 403 with a JSON body that says what, why and how to ask (http://cove.internal/).
std::string denial_response(const Verdict& verdict, const Target& target);

}  // namespace cove::net
