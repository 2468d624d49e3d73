#include "net/gateway/http_exchange.h"

#include <openssl/crypto.h>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::net {
namespace {

using http1::malformed;

std::optional<Scrubber> scrubber_of(const std::shared_ptr<const SecretForms>& forms) {
  if (!forms || forms->empty()) return std::nullopt;
  return std::make_optional<Scrubber>(forms);
}

HttpBody request_body(const http1::Framing& framing) {
  return HttpBody(framing, HttpBody::Chunks::Kept, http1::Padding::Refused, std::nullopt);
}

}  // namespace

HttpExchange::HttpExchange(HttpRequest request, Order order)
    : request_(std::move(request)), order_(std::move(order)), request_body_(request_body(request_.framing)) {}

std::string HttpExchange::head(const std::vector<const BrokeredSecret*>& secrets) const {
  RequestHead head = request_.head;
  bool any = false;
  for (const BrokeredSecret* secret : secrets) any = put_in(*secret, head) || any;
  // Of an answer that repeats the value, parts could be asked for that are too small to be recognized.
  std::string text =
      forwarded_head(request_, head, {.identity = order_.readable, .whole = any, .keeps_alive = request_.keeps_alive});
  OPENSSL_cleanse(head.target.data(), head.target.size());
  for (auto& [name, value] : head.headers) OPENSSL_cleanse(value.data(), value.size());
  return text;
}

HttpExchange::Taken HttpExchange::take_request(std::string_view& input, std::string& out) {
  return request_body_.feed(input, out);
}

HttpExchange::Taken HttpExchange::take_answer(std::string_view& input, std::string& out) {
  begun_ = begun_ || !input.empty();
  while (!is_answer_done() && !upgraded_ && !input.empty()) {
    if (answer_body_) return answer_body_->feed(input, out);
    auto whole = answer_head_->feed(input);
    if (!whole) return std::unexpected(std::move(whole).error());
    if (!*whole) return {};
    if (auto taken = begin_answer(out); !taken) return taken;
  }
  return {};
}

void HttpExchange::put_head(const http1::ResponseHead& head, AnswerForm form, std::string& out) {
  const std::string text = forwarded_answer(head, answer_head_->first_line(), form);
  out += order_.forms ? scrub(*order_.forms, text) : text;
  answer_head_.emplace(kMostHead);
}

HttpExchange::Taken HttpExchange::begin_answer(std::string& out) {
  auto head = http1::parse_response_head(*answer_head_);
  if (!head) return malformed(concat("the answer's head is malformed: ", head.error().reason));
  if (head->status == 101) {
    if (!request_.websocket) return malformed("it switched to another protocol unasked");
    upgraded_ = true;
    put_head(*head, {.upgraded = true}, out);
    return {};
  }
  if (head->status >= 200) return begin_body(*head, out);
  if (request_.http11)
    put_head(*head, {}, out);
  else
    answer_head_.emplace(kMostHead);
  return {};
}

HttpExchange::Taken HttpExchange::check_readable(const http1::ResponseHead& head, const http1::Framing& framing) const {
  if (!order_.readable || framing.empty()) return {};
  for (const auto& [name, value] : head.headers)
    if (same_word(name, "content-encoding") && !value.empty() && !same_word(value, "identity"))
      return malformed(concat("its answer is compressed (", value,
                              ") though it was asked for one that is not, and cannot be searched for secrets"));
  return {};
}

HttpExchange::Taken HttpExchange::begin_body(const http1::ResponseHead& head, std::string& out) {
  auto framing = http1::framing_of(head, request_.method);
  if (!framing) return malformed(concat("the answer's head is malformed: ", framing.error().reason));
  if (auto readable = check_readable(head, *framing); !readable) return readable;
  const bool chunked = framing->chunked() && request_.http11;
  const bool ends_by_close = framing->kind == http1::Framing::Kind::UntilClose || (framing->chunked() && !chunked);
  keeps_server_ = head.keeps_alive && framing->kind != http1::Framing::Kind::UntilClose;
  keeps_client_ =
      request_.keeps_alive && is_request_done() && !ends_by_close && (keeps_server_ || !order_.ends_together);
  put_head(head, {.keeps_alive = keeps_client_, .chunked = chunked}, out);
  answer_body_.emplace(*framing, chunked ? HttpBody::Chunks::Kept : HttpBody::Chunks::Dropped, http1::Padding::Taken,
                       scrubber_of(order_.forms));
  return {};
}

bool HttpExchange::end_answer(std::string& out) { return answer_body_ && answer_body_->end(out); }

}  // namespace cove::net
