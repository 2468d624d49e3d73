#include "client/http.h"

#include "base/text.h"
#include "client/problem.h"

namespace cove::client {
namespace {

constexpr size_t kMaxHead = 64 * 1024;
constexpr size_t kMaxAnswer = 256 << 20;
constexpr size_t kMaxProblem = 1 << 20;

bool streams(const Request& request) { return static_cast<bool>(request.produce); }

// Whether the head is whole.
Result<bool> feed(Connection& connection, http1::HeadReader& reader) {
  std::string_view input = connection.unread();
  const size_t before = input.size();
  auto whole = reader.feed(input);
  if (!whole) return no_http(whole.error());
  connection.take(before - input.size());
  return *whole;
}

// Between reused connections: whether the request can be sent again without harm or loss.
bool repeatable(const Request& request) { return !streams(request) && request.method == "GET"; }

// Cove's servers do not redirect. Following would take the key to who knows where.
std::unexpected<Error> redirected(const ResponseHead& head) {
  std::string_view target = head.header("location");
  return fail(Error(Code::Unsupported, concat("the server answers with a redirect (", head.status, ")",
                                              target.empty() ? "" : " to ", target, ", which is not followed"))
                  .hint("COVE_HOST must name the Cove server itself"));
}

}  // namespace

Result<ResponseHead> receive_head(Connection& connection) {
  while (true) {
    http1::HeadReader reader(kMaxHead);
    while (!COVE_TRY(feed(connection, reader)))
      if (!COVE_TRY(connection.fill())) return fail(Code::Unavailable, "the server closed the connection");
    auto head = http1::parse_response_head(reader);
    if (!head) return no_http(head.error());
    if (head->status >= 200 || head->status == 101) return std::move(*head);
  }
}

std::string Http::head_of(const Request& request) const {
  http1::HeadWriter head(concat(request.method, " ", request.target, " HTTP/1.1"));
  head.add("Host", authority_of(address_)).add("User-Agent", "cove/" COVE_VERSION);
  if (!identity_.api_key.empty()) head.add("Authorization", concat("Bearer ", identity_.api_key));
  if (!identity_.project.empty()) head.add("Cove-Project", identity_.project);
  for (const auto& [name, value] : request.headers) head.add(name, value);
  if (streams(request) && !request.length)
    head.add("Transfer-Encoding", "chunked");
  else if (streams(request) || request.body || request.method != "GET")
    head.add("Content-Length", concat(streams(request) ? *request.length : request.body.value_or("").size()));
  return head.take();
}

Result<void> Http::send(Connection& connection, const Request& request) const {
  if (!streams(request)) return connection.write(head_of(request) + request.body.value_or(""));
  COVE_TRY(connection.write(head_of(request)));
  auto framing = request.length ? Framing::Kind::Length : Framing::Kind::Chunked;
  BodyWriter writer(connection, framing, request.progress);
  COVE_TRY(request.produce(writer));
  return writer.end();
}

bool Http::usable() const { return connection_ && !connection_->has_news() && reusable_ && body_.ended(); }

Result<void> Http::connect() {
  if (usable()) return {};
  connection_ = std::make_unique<Connection>(COVE_TRY(Connection::open(address_)));
  connection_->set_patience(patience_);
  body_ = Body();
  reusable_ = true;
  return {};
}

Result<ResponseHead> Http::exchange(const Request& request) {
  bool reused = usable();
  COVE_TRY(connect());
  connection_->set_patience(patience_);
  reusable_ = false;
  Result<void> sent = send(*connection_, request);
  // Even where not everything could be sent there may be an answer that says why.
  bool answered = sent || sent.error().code() == Code::Unavailable;
  Result<ResponseHead> head = answered ? receive_head(*connection_) : fail(sent.error());
  if (head) {
    reusable_ = sent && head->keeps_alive;
    server_version_ = head->header("cove-version");
    return head;
  }
  connection_.reset();
  if (reused && repeatable(request)) return exchange(request);
  return sent ? std::move(head) : fail(std::move(sent).error());
}

Result<ResponseHead> Http::open(const Request& request) {
  ResponseHead head = COVE_TRY(exchange(request));
  body_ = COVE_TRY(body_of(*connection_, head, request.method));
  if (head.status >= 300 && head.status < 400) return redirected(head);
  if (head.status < 400) return head;
  std::string document = COVE_TRY(body_.read_all(kMaxProblem));
  return fail(read_problem(head, document));
}

Result<Response> Http::fetch(const Request& request) {
  Response response{COVE_TRY(open(request)), ""};
  response.body = COVE_TRY(body_.read_all(kMaxAnswer));
  return response;
}

Result<std::unique_ptr<Connection>> Http::upgrade(const Request& request, ResponseHead& head) const {
  auto connection = std::make_unique<Connection>(COVE_TRY(Connection::open(address_)));
  connection->set_patience(patience_);
  COVE_TRY(send(*connection, request));
  head = COVE_TRY(receive_head(*connection));
  if (head.status == 101) return connection;
  Body body = COVE_TRY(body_of(*connection, head, request.method));
  return fail(read_problem(head, COVE_TRY(body.read_all(kMaxProblem))));
}

Result<pid_t> Http::peer() const {
  if (!connection_) return fail(Code::Unavailable, "there is no connection");
  return connection_->peer();
}

}  // namespace cove::client
