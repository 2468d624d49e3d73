#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/gateway/connector.h"
#include "net/gateway/flow.h"
#include "net/gateway/hello_verdict.h"
#include "net/gateway/http_flow.h"
#include "net/gateway/opening_reader.h"
#include "net/gateway/relay.h"

namespace cove::net {

// One TCP connection: looks at its first bytes, decides, connects, and moves bytes.
//
// What the name (or address) and the port allow is connected to at once, and what the server sends is passed on at
// once: protocols in which the server speaks first are not delayed. Of what the program sends, nothing is forwarded
// before its first bytes were looked at; but the beginning of a line that could become a request, and does not for a
// while, is forwarded as it comes, and cut when it becomes one.
class TcpFlow final : public Flow, public Relay::Owner {
 public:
  // What an explicit proxy owes the program inside before it sends its first bytes.
  struct Answers {
    std::string granted;
    std::string unreachable;
    std::string denied;
  };
  struct Order {
    UniqueFd client;
    Target target;  // a name, or the address that was wanted
    std::string first_bytes;
    std::optional<Answers> answers;
  };
  // The sandbox owns it.
  static void start(SandboxNetwork& sandbox, Order order);

  TcpFlow(SandboxNetwork& sandbox, Order order);
  ~TcpFlow() override;
  void policy_changed() override;
  void cut(const Verdict& reason) override;
  bool undecided() const override { return !passed_ && !connected(); }

 private:
  // Where the beginning of the connection is looked at: tcp_flow.cc.
  void begin(std::string first_bytes);
  void on_client(uint32_t events);
  void on_timer();
  void set_timer(std::chrono::milliseconds time);
  bool read_first();
  void look(OpeningReader::State state);
  void look_for_more();
  void look_at_query();
  void look_at_hello();
  void hand_over(HttpFlow::Inside inside);
  void hand_over_now(HttpFlow::Inside inside);
  void pass();
  void refuse_tls(const Verdict& verdict);
  void answer_and_finish(std::string_view text);

  // The connection outside, and what is moved: tcp_upstream.cc.
  void connect();
  void connect_done(std::expected<Connected, ConnectFailure> result);
  void connect_failed(const ConnectFailure& failure);
  bool grant();
  void on_upstream(uint32_t events);
  void start_relay(Relay::Outbound outbound);
  void trickle();
  std::string take_first_bytes();
  bool connected() const { return upstream_fd_ >= 0; }
  void moved(uint64_t in_bytes, uint64_t out_bytes) override;
  void ended(Relay::End end) override;

  int client_fd_;
  UniqueFd client_;  // until the relay has it
  Target target_;
  Verdict verdict_;
  OpeningReader opening_;
  std::optional<Answers> answers_;
  std::string query_;                             // to be sent before the first bytes were understood
  std::optional<HttpFlow::Inside> handing_over_;  // once the connection outside is there
  bool client_ended_ = false;
  bool trickling_ = false;  // the beginning of a line is forwarded as it comes
  size_t forwarded_ = 0;    // of the first bytes
  bool passed_ = false;     // the first bytes may be forwarded
  bool draining_ = false;   // refused; the program has yet to read the answer
  bool over_ = false;
  uint64_t timer_ = 0;
  std::unique_ptr<Connector> connector_;
  UniqueFd upstream_;  // until the relay has it
  int upstream_fd_ = -1;
  std::unique_ptr<Relay> relay_;
};

}  // namespace cove::net
