// Bytes of a client, first to the parser in two ways, which must agree, then to a whole connection.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/connection.h"
#include "http/request_parser.h"

namespace {

using namespace cove;
using namespace cove::http;

constexpr size_t kMostHeaders = 2048;
constexpr size_t kMostInput = 64 * 1024;

void require(bool held) {
  if (!held) std::abort();
}

// What the parser makes of one request.
struct Outcome {
  bool head = false;  // it was taken
  bool body = false;  // and so was the body, where it is chunked
  std::string summary;
};

std::string summarize(const Head& head) {
  std::string text = head.request.method + " " + head.request.path;
  for (auto& [name, value] : head.request.query) text += "\n?" + name + "=" + value;
  for (auto& [name, value] : head.request.headers) text += "\n" + name + ": " + value;
  return text + "\n" + std::to_string(head.framing.length) + (head.keep_alive ? " kept" : "");
}

// Gives the input to the parser in pieces of `step` bytes.
class Feeder {
 public:
  Feeder(std::string_view input, size_t step) : rest_(input), step_(step) {}
  bool more() {
    if (rest_.empty()) return false;
    size_t count = std::min(step_, rest_.size());
    buffer_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }
  std::string_view buffered() const { return buffer_; }
  void keep(std::string_view unused) { buffer_.erase(0, buffer_.size() - unused.size()); }

 private:
  std::string_view rest_;
  size_t step_;
  std::string buffer_;
};

bool parse_head(RequestParser& parser, Feeder& feeder) {
  while (feeder.more()) {
    std::string_view view = feeder.buffered();
    auto whole = parser.parse_head(view);
    feeder.keep(view);
    if (!whole) return false;
    if (*whole) return true;
  }
  return false;
}

bool parse_body(RequestParser& parser, Feeder& feeder, size_t room, std::string& body) {
  std::string out(room, '\0');
  for (;;) {
    std::string_view view = feeder.buffered();
    auto piece = parser.parse_chunked(view, out);
    feeder.keep(view);
    if (!piece) return false;
    require(piece->bytes <= room);
    body.append(out, 0, piece->bytes);
    if (piece->done) return true;
    if (piece->bytes == 0 && !feeder.more()) return false;
  }
}

Outcome parse(std::string_view input, size_t step, size_t room) {
  RequestParser parser(kMostHeaders);
  Feeder feeder(input, step);
  Outcome outcome;
  outcome.head = parse_head(parser, feeder);
  if (!outcome.head) return outcome;
  outcome.summary = summarize(parser.head());
  require(parser.head().request.path.find('\0') == std::string::npos);
  std::string body;
  if (parser.head().framing.chunked()) outcome.body = parse_body(parser, feeder, room, body);
  if (outcome.body) outcome.summary += body;
  return outcome;
}

void compare(std::string_view input) {
  Outcome whole = parse(input, input.size(), 4096), pieces = parse(input, 1, 3);
  require(whole.head == pieces.head);
  require(whole.body == pieces.body);
  require(whole.summary == pieces.summary);
}

void answer(Exchange& exchange) {
  auto path = exchange.request().captures.find("path");
  auto body = exchange.read_all(1000);
  (void)exchange.respond(body ? 200 : 400, {{"X-Path", path->second}}, body.value_or("none"));
}

void store(Exchange& exchange) {
  static int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  (void)exchange.read_to(null);
  (void)exchange.begin(200, {}, std::nullopt);
  (void)exchange.write(exchange.request().target);
  (void)exchange.end();
}

void talk(Exchange& exchange) {
  auto socket = exchange.upgrade();
  if (!socket) return;
  while ((*socket)->wait(-1, std::chrono::milliseconds(0)) == WebSocket::Wake::Message) (void)(*socket)->receive();
}

const Listener& listener() {
  static const std::unique_ptr<Listener> one = [] {
    auto routes = std::make_shared<Router>();
    routes->add({"*", "/{path...}", answer});
    routes->add({"PUT", "/store/{name}", store});
    routes->add({"GET", "/talk", talk});
    auto listener = std::make_unique<Listener>();
    listener->routes = std::move(routes);
    return listener;
  }();
  return *one;
}

void serve(std::string_view input) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  UniqueFd client(ends[0]);
  auto stream = make_plain_stream(UniqueFd(ends[1]));
  (void)!::write(client.get(), input.data(), input.size());
  ::shutdown(client.get(), SHUT_WR);
  std::chrono::milliseconds moment(1);
  ServerOptions options{
      .max_header_bytes = kMostHeaders, .header_patience = moment, .idle_patience = moment, .body_patience = moment};
  StopSignal stop;
  Connection(*stream, Peer(), listener(), options, stop).serve();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMostInput) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  compare(input);
  serve(input);
  return 0;
}
