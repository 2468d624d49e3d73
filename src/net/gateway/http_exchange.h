#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "http1/response.h"
#include "net/gateway/http_answer.h"
#include "net/gateway/http_body.h"
#include "net/gateway/http_request.h"

namespace cove::net {

inline constexpr size_t kMostHead = 64 * 1024;

// One request and its answer, as bytes from one side to the other; knows no sockets. After an error nothing more may be
// taken.
class HttpExchange {
 public:
  struct Order {
    std::shared_ptr<const SecretForms> forms;  // scrubbed from answers; may be empty
    bool readable = false;  // answers must be readable: they are asked for without compression, and refused with it
    bool ends_together = false;  // the client's connection ends where the server's does
  };
  using Taken = std::expected<void, http1::Malformed>;

  HttpExchange(HttpRequest request, Order order);

  // The head for the server, with the values of these secrets in it.
  std::string head(const std::vector<const BrokeredSecret*>& secrets) const;
  // From the client to the server: the body.
  Taken take_request(std::string_view& input, std::string& out);
  // From the server to the client.
  Taken take_answer(std::string_view& input, std::string& out);
  // The server has ended its connection, and all it sent was taken. False where the answer is not whole.
  bool end_answer(std::string& out);

  const HttpRequest& request() const { return request_; }
  bool is_request_done() const { return request_body_.done(); }
  bool is_answer_begun() const { return begun_; }                       // a byte of it has come
  bool is_answer_promised() const { return answer_body_.has_value(); }  // its head went to the client
  bool is_answer_done() const { return answer_body_ && answer_body_->done(); }
  bool is_upgraded() const { return upgraded_; }  // what follows is no HTTP
  // Whether the connections can be used again once both are done.
  bool keeps_client() const { return keeps_client_ && is_request_done(); }
  bool keeps_server() const { return keeps_server_ && is_request_done(); }
  bool holds() const { return answer_body_ && answer_body_->holds(); }
  void release(std::string& out) { answer_body_->release(out); }

 private:
  Taken begin_answer(std::string& out);
  Taken begin_body(const http1::ResponseHead& head, std::string& out);
  Taken check_readable(const http1::ResponseHead& head, const http1::Framing& framing) const;
  void put_head(const http1::ResponseHead& head, AnswerForm form, std::string& out);

  HttpRequest request_;
  Order order_;
  HttpBody request_body_;
  std::optional<http1::HeadReader> answer_head_{kMostHead};
  std::optional<HttpBody> answer_body_;
  bool begun_ = false, upgraded_ = false, keeps_client_ = false, keeps_server_ = false;
};

}  // namespace cove::net
