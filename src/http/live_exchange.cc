#include "http/live_exchange.h"

#include "http/handshake.h"
#include "http/live_tunnel.h"
#include "http/live_websocket.h"

namespace cove::http {
namespace {

Request identified(Request request) {
  request.take_id();
  return request;
}

}  // namespace

LiveExchange::LiveExchange(Wire& wire, RequestParser& parser, milliseconds patience)
    : wire_(wire),
      request_(identified(std::move(parser.head().request))),
      patience_(patience),
      body_(wire, parser, patience),
      answer_(wire, patience,
              {.http11 = parser.head().http11,
               .head = request_.method == "HEAD",
               .keep_alive = parser.head().keep_alive,
               .request_id = request_.id}) {}

// What was not read of the body until now is not asked for any more; if it is long, the connection ends with the
// answer.
void LiveExchange::prepare_answer() {
  body_.answered();
  if (!body_.whole() && !body_.worth_draining()) answer_.close_after();
}

Result<void> LiveExchange::respond(int status, const Headers& headers, std::string_view body) {
  prepare_answer();
  return answer_.respond(status, headers, body);
}

Result<void> LiveExchange::begin(int status, const Headers& headers, std::optional<uint64_t> length) {
  prepare_answer();
  return answer_.begin(status, headers, length);
}

// POLLRDHUP tells of the end of what the peer sends, and not of bytes that wait before it.
Exchange::Wake LiveExchange::wait(int fd, milliseconds patience) {
  if (wire_.stream().is_cut() || !answer_.flush()) return Wake::Gone;
  pollfd fds[] = {{.fd = wire_.stream().socket(), .events = POLLRDHUP, .revents = 0},
                  {.fd = wire_.stop_fd(), .events = POLLIN, .revents = 0},
                  {.fd = fd, .events = POLLIN, .revents = 0}};
  if (poll_until(fds, deadline_in(patience)) == 0) return Wake::Timeout;
  if (fds[0].revents) return Wake::Gone;
  if (fds[1].revents) return Wake::Stopping;
  return Wake::Ready;
}

Exchange::Wake LiveExchange::wait(int fd, short events, Want want, milliseconds patience) {
  if (wire_.stream().is_cut() || !answer_.flush()) return Wake::Gone;
  const bool body = want == Want::Body;
  if (body && (!wire_.buffered().empty() || wire_.stream().holds_bytes())) return Wake::Ready;
  const short client = body ? POLLIN : body_.whole() ? POLLRDHUP : 0;
  pollfd fds[] = {{.fd = wire_.stream().socket(), .events = client, .revents = 0},
                  {.fd = wire_.stop_fd(), .events = POLLIN, .revents = 0},
                  {.fd = fd, .events = events, .revents = 0}};
  if (poll_until(fds, deadline_in(patience)) == 0) return Wake::Timeout;
  if (fds[0].revents && !body) return Wake::Gone;
  if (fds[1].revents) return Wake::Stopping;
  return Wake::Ready;
}

Result<Exchange::Piece> LiveExchange::try_read(std::span<char> buffer) {
  auto count = COVE_TRY(body_.try_read(buffer));
  return Piece{.bytes = count.value_or(0), .waits = !count};
}

Result<std::unique_ptr<Tunnel>> LiveExchange::switch_protocols(const Headers& headers) {
  COVE_TRY(answer_.switch_protocols(headers));
  return std::make_unique<LiveTunnel>(wire_);
}

Result<std::unique_ptr<WebSocket>> LiveExchange::upgrade(const Headers& headers) {
  auto accept = check_handshake(request_);
  if (!accept && accept.error().code() == Code::Unsupported)
    COVE_TRY(respond(426, {{"Sec-WebSocket-Version", "13"}, {"Upgrade", "websocket"}}, ""));
  if (!accept) return fail(std::move(accept).error());
  Headers all = headers;
  all.emplace_back("Upgrade", "websocket");
  all.emplace_back("Sec-WebSocket-Accept", *accept);
  COVE_TRY(answer_.switch_protocols(all));
  return std::make_unique<LiveWebSocket>(wire_, patience_);
}

bool LiveExchange::finish() { return !wire_.stream().is_cut() && answer_.keeps_connection() && body_.drain(); }

}  // namespace cove::http
