#include "cli/exec_line.h"

#include <poll.h>

#include "base/text.h"

namespace cove::cli {
namespace {

using client::Opcode;
using Kind = ExecMessage::Kind;

constexpr size_t kOutputHead = 9;
constexpr std::chrono::seconds kSignalPatience{10};

uint64_t read_number(std::string_view bytes) {
  uint64_t number = 0;
  for (char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

Json signal_body(int number, bool group) { return {{"signal", number}, {"group", group}}; }

Json size_body(WindowSize size) { return {{"rows", size.rows}, {"cols", size.columns}}; }

class WebSocketLine : public ExecLine {
 public:
  explicit WebSocketLine(client::WebSocket socket) : socket_(std::move(socket)) {}

  int fd() const override { return socket_.fd(); }
  short wanted() const override { return socket_.wanted(); }
  Result<void> move(short revents) override { return socket_.move(revents); }
  bool closed() const override { return socket_.closed(); }
  void close() override { socket_.close(); }

  Result<std::optional<ExecMessage>> next() override {
    while (std::optional<client::WebSocketMessage> message = COVE_TRY(socket_.next())) {
      if (message->opcode == Opcode::Binary) return COVE_TRY(read_output(message->data));
      Json json = COVE_TRY(client::parse_json(message->data));
      std::string type = client::text_of(json, "type");
      if (type == "exit") return ExecMessage{Kind::Exit, 0, "", client::field(json, "result")};
      if (type == "error") return ExecMessage{Kind::Problem, 0, "", std::move(json)};
    }
    return std::nullopt;
  }

  void send_signal(int number, bool group) override { send("signal", signal_body(number, group)); }
  void send_size(WindowSize size) override { send("resize", size_body(size)); }

 private:
  // 1 byte: which stream; 8 bytes: its number; the data.
  static Result<ExecMessage> read_output(std::string_view data) {
    if (data.size() < kOutputHead || data[0] < 1 || data[0] > 2)
      return fail(Code::Internal, "the server sent output without its header");
    return ExecMessage{data[0] == 1 ? Kind::Out : Kind::Err, read_number(data.substr(1, 8)),
                       std::string(data.substr(kOutputHead)), Json()};
  }

  void send(const char* type, Json message) {
    message["type"] = type;
    socket_.send(Opcode::Text, client::dump(message));
  }

  client::WebSocket socket_;
};

class EventLine : public ExecLine {
 public:
  EventLine(Api& api, client::EventStream events, ExecName name)
      : body_(api.body()),
        events_(std::move(events)),
        control_(client::Http(api.http().address(), api.http().identity())),
        name_(std::move(name)) {
    control_.set_patience(kSignalPatience);
  }

  int fd() const override { return body_.fd(); }
  short wanted() const override { return POLLIN; }
  bool closed() const override { return closed_; }
  void close() override {}

  // Polls again, because it is also called when there may be nothing to read.
  Result<void> move(short revents) override {
    pollfd polled = {body_.fd(), POLLIN, 0};
    if (revents == 0 || ::poll(&polled, 1, 0) <= 0 || COVE_TRY(body_.fill())) return {};
    return fail(Code::Unavailable, "the server closed the connection");
  }

  Result<std::optional<ExecMessage>> next() override {
    while (std::optional<client::ServerEvent> event = COVE_TRY(events_.next_ready())) {
      Json json = COVE_TRY(client::parse_json(event->data));
      if (event->event == "exit") return ExecMessage{Kind::Exit, 0, "", client::field(json, "result")};
      if (event->event == "error") return ExecMessage{Kind::Problem, 0, "", std::move(json)};
      if (event->event != "stdout" && event->event != "stderr") continue;
      return ExecMessage{event->event == "stdout" ? Kind::Out : Kind::Err, client::count_of(json, "seq"),
                         COVE_TRY(client::bytes_of(json)), Json()};
    }
    closed_ = body_.ended();
    return std::nullopt;
  }

  void send_signal(int number, bool group) override {
    static_cast<void>(control_.signal_exec(name_.sandbox, name_.exec, signal_body(number, group)));
  }
  void send_size(WindowSize size) override {
    static_cast<void>(control_.resize_exec(name_.sandbox, name_.exec, size_body(size)));
  }

 private:
  client::Body& body_;
  client::EventStream events_;
  Api control_;
  ExecName name_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<ExecLine> over_websocket(client::WebSocket socket) {
  return std::make_unique<WebSocketLine>(std::move(socket));
}

std::unique_ptr<ExecLine> over_events(Api& api, client::EventStream events, ExecName name) {
  return std::make_unique<EventLine>(api, std::move(events), std::move(name));
}

}  // namespace cove::cli
