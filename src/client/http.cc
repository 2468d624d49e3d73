#include "client/http.h"

#include "base/text.h"
#include "client/problem.h"

namespace cove::client {
namespace {

constexpr size_t kMaxAnswer = 256 << 20;
constexpr size_t kMaxProblem = 1 << 20;

bool streams(const Request& request) { return static_cast<bool>(request.produce); }

std::string_view host_of(const Address& address) {
  return address.kind == Address::Kind::Unix ? std::string_view("localhost") : std::string_view(address.host);
}

void add_header(std::string& text, std::string_view name, std::string_view value) {
  text += concat(name, ": ", value, "\r\n");
}

// Between reused connections: whether the request can be sent again without harm or loss.
bool repeatable(const Request& request) { return !streams(request) && request.method == "GET"; }

}  // namespace

Result<ResponseHead> receive_head(Connection& connection) {
  while (true) {
    std::optional<size_t> size = head_size(connection.unread());
    if (!size) {
      if (connection.unread().size() > kMaxHead)
        return fail(Code::Internal, "the server's answer has too many headers");
      if (!COVE_TRY(connection.fill())) return fail(Code::Unavailable, "the server closed the connection");
      continue;
    }
    ResponseHead head = COVE_TRY(parse_response_head(connection.unread().substr(0, *size)));
    connection.take(*size);
    if (head.status >= 200 || head.status == 101) return head;
  }
}

std::string Http::head_of(const Request& request) const {
  std::string text = concat(request.method, " ", request.target, " HTTP/1.1\r\n");
  std::string_view host = host_of(address_);
  bool numbers = host.find(':') != std::string_view::npos;
  std::string place = numbers ? concat("[", host, "]") : std::string(host);
  if (address_.kind != Address::Kind::Unix) place += concat(":", address_.port);
  add_header(text, "Host", place);
  add_header(text, "User-Agent", "cove/" COVE_VERSION);
  if (!identity_.api_key.empty()) add_header(text, "Authorization", concat("Bearer ", identity_.api_key));
  if (!identity_.project.empty()) add_header(text, "Cove-Project", identity_.project);
  for (const Header& header : request.headers) add_header(text, header.name, header.value);
  if (streams(request) && !request.length)
    add_header(text, "Transfer-Encoding", "chunked");
  else if (streams(request) || request.body || request.method != "GET")
    add_header(text, "Content-Length", concat(streams(request) ? *request.length : request.body.value_or("").size()));
  return text + "\r\n";
}

Result<void> Http::send(Connection& connection, const Request& request) const {
  if (!streams(request)) return connection.write(head_of(request) + request.body.value_or(""));
  COVE_TRY(connection.write(head_of(request)));
  auto framing = request.length ? BodyWriter::Framing::Length : BodyWriter::Framing::Chunked;
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
  body_ = Body(*connection_, COVE_TRY(framing_of(head, request.method)));
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
  Body body(*connection, COVE_TRY(framing_of(head, request.method)));
  return fail(read_problem(head, COVE_TRY(body.read_all(kMaxProblem))));
}

Result<pid_t> Http::peer() const {
  if (!connection_) return fail(Code::Unavailable, "there is no connection");
  return connection_->peer();
}

}  // namespace cove::client
