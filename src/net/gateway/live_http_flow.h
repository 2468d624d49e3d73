#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/gateway/http_exchange.h"
#include "net/gateway/http_flow.h"
#include "net/gateway/http_side.h"

namespace cove::net {

// The flow: a client, the server that its present request is for, and what is between them. Every turn moves what can
// be moved (step_…), until nothing does.
class LiveHttpFlow final : public HttpFlow {
 public:
  LiveHttpFlow(Loop& loop, FlowContext& context, Order order);
  ~LiveHttpFlow() override;
  Target target() const override;

 private:
  enum class State { Head, Connecting, Exchange, Tunnel, Refusing, Closing };
  enum class Ending { Orderly, Unannounced, Reset };  // unannounced: without the end that TLS has

  // Turns (live_http_flow.cc).
  std::function<void()> guarded(std::function<void()> call);  // not called after the flow's end
  void advance();
  bool step();
  bool step_connecting();
  bool step_closing();
  void set_deadline(std::chrono::milliseconds patience);
  void be_impatient();
  void watch_held();
  void release_held();

  // The two sides.
  std::unique_ptr<HttpSide> side(std::unique_ptr<ByteStream> stream);
  void open_client(RawSocket socket);
  void connect();
  void open_server(UniqueFd fd);
  void drop_server(Ending how);
  void account();
  void close(Ending how);  // once all that was sent has gone
  void end(Ending how);    // now

  // A request and its answer (live_http_requests.cc).
  bool step_head();
  bool leave_idle_server();
  void begin_request();
  Target target_of(HttpRequest& request) const;
  bool agrees(const HttpRequest& request) const;
  Verdict decide();
  void begin_exchange();
  std::vector<const BrokeredSecret*> secrets_for_target() const;
  std::shared_ptr<const SecretForms> forms();
  bool step_exchange();
  bool pass_request();
  bool pass_answer();
  void finish_exchange();
  void lose_server();
  void begin_tunnel();
  bool step_tunnel();
  bool pass_up();
  bool pass_down();

  // Answers of our own (live_http_refusals.cc).
  void refuse_denied(const Verdict& verdict);
  bool step_refusing();
  void answer(const OwnAnswer& own);
  void refuse_malformed(const http1::Malformed& why);
  void refuse_misdirected();
  void refuse_connection(const Error& error);
  void bad_gateway(const std::string& why);
  void fail_connection(const char* code, const std::string& why);
  void end_handshake(const std::string& why);
  std::string host_text() const;

  Loop& loop_;
  FlowContext& context_;
  const Inside inside_;
  const std::string name_;
  const uint16_t port_;
  const std::optional<Address> address_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::unique_ptr<HttpSide> client_, server_;
  Target server_target_;
  bool reused_ = false;
  uint64_t counted_in_ = 0, counted_out_ = 0;

  State state_ = State::Head;
  Ending ending_ = Ending::Orderly;
  bool over_ = false;
  uint64_t deadline_ = 0, release_ = 0;

  std::optional<http1::HeadReader> request_head_{kMostHead};
  bool head_begun_ = false;
  HttpRequest request_;
  Target target_;
  std::optional<HttpExchange> exchange_;
  std::optional<Scrubber> scrubber_;  // after an upgrade
  std::optional<HttpBody> refused_body_;
  uint64_t discarded_ = 0;
  std::shared_ptr<const SecretForms> forms_;
  uint64_t forms_version_ = 0;
};

}  // namespace cove::net
