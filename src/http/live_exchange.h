#pragma once

#include "http/answer.h"
#include "http/body.h"
#include "http/exchange.h"
#include "http/request_parser.h"
#include "http/wire.h"

namespace cove::http {

// The exchange of a request that came over a wire.
class LiveExchange final : public Exchange {
 public:
  // The head is whole or, for an answer that says so, malformed.
  LiveExchange(Wire& wire, RequestParser& parser, milliseconds patience);

  const Request& request() const override { return request_; }
  Request& request() { return request_; }
  int connection() const override { return wire_.stream().socket(); }

  void vouch() override { wire_.stream().vouch(); }

  Result<size_t> read(std::span<char> buffer) override { return body_.read(buffer); }
  Result<std::string> read_all(size_t most) override { return body_.read_all(most); }
  Result<uint64_t> read_to(int fd) override { return body_.read_to(fd); }

  Result<Piece> try_read(std::span<char> buffer) override;
  bool holds_body_back() const override { return body_.held_back(); }
  void pass_on() override { answer_.pass_on(); }

  Result<void> respond(int status, const Headers& headers, std::string_view body) override;
  Result<void> begin(int status, const Headers& headers, std::optional<uint64_t> length) override;
  Result<void> write(std::string_view data) override { return answer_.write(data); }
  Result<void> send_file(int fd, uint64_t offset, uint64_t count) override {
    return answer_.send_file(fd, offset, count);
  }
  Result<void> end() override { return answer_.end(); }
  bool begun() const override { return answer_.begun(); }

  void cut() override { wire_.stream().cut(); }
  Wake wait(int fd, milliseconds patience) override;
  Wake wait(int fd, short events, Want want, milliseconds patience) override;
  Result<std::unique_ptr<Tunnel>> switch_protocols(const Headers& headers) override;
  Result<std::unique_ptr<WebSocket>> upgrade(const Headers& headers) override;

  int status() const { return answer_.status(); }
  // The request was malformed: nobody knows where the next one begins.
  void close_after() { answer_.close_after(); }
  // After the handler: sends what waits to be sent…
  void flush() { (void)answer_.flush(); }
  // …and reads what waits to be read. Whether the next request may be read from the wire.
  bool finish();

 private:
  void prepare_answer();

  Wire& wire_;
  Request request_;
  milliseconds patience_;
  Body body_;
  Answer answer_;
};

}  // namespace cove::http
