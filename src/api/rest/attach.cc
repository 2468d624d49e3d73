// A WebSocket to a running exec, or one that has run.
#include <endian.h>
#include <poll.h>

#include "api/rest/call.h"
#include "api/rest/exec_request.h"
#include "api/rest/output.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "base/text.h"
#include "engine/service/following.h"

namespace cove::api {
namespace {

using http::WebSocket;
using Parting = engine::Attendance::Parting;
using std::chrono::milliseconds;

constexpr milliseconds kPing{15'000};
constexpr milliseconds kInputLook{20};  // between attempts to give a program the input that it does not take
constexpr size_t kAtOnce = 256 * kKiB;
constexpr size_t kMostPending = 1 * kMiB;  // input beyond which no more messages are taken
constexpr uint16_t kNormal = 1000;
constexpr uint16_t kGoingAway = 1001;

// 1 byte for the stream, 8 for the number, then the data.
std::string frame(const engine::Chunk& chunk) {
  std::string frame(1, static_cast<char>(chunk.stream));
  uint64_t seq = htobe64(chunk.seq);
  frame.append(reinterpret_cast<const char*>(&seq), sizeof seq);
  return frame + chunk.data;
}

// Input that the program does not take yet keeps nobody waiting: output goes on, and so do signals.
class Attached {
 public:
  Attached(WebSocket& socket, const http::Exchange& exchange, engine::Exec& exec, engine::Follower& follower)
      : socket_(socket),
        connection_(exchange.connection()),
        request_id_(exchange.request().id),
        exec_(exec),
        follower_(follower) {}

  // Until the exec has ended and all is told, or the caller goes.
  Parting serve() {
    while (send_output()) {
      give_input();
      switch (wait()) {
        case WebSocket::Wake::Message:
          take_message();
          break;
        case WebSocket::Wake::Timeout:
          if (!has_input() && !socket_.ping()) return Parting::Lost;
          break;
        case WebSocket::Wake::Gone:
          return socket_.peer_closed() ? Parting::Orderly : Parting::Lost;
        case WebSocket::Wake::Stopping:
          socket_.close(kGoingAway, "the server stops");
          return Parting::Orderly;
        case WebSocket::Wake::Fd:
          break;
      }
    }
    return exec_.ended() ? Parting::Orderly : Parting::Lost;
  }

 private:
  bool has_input() const { return !input_.empty() || closes_input_; }

  WebSocket::Wake wait() {
    if (input_.size() < kMostPending) return socket_.wait(follower_.fd(), has_input() ? kInputLook : kPing);
    // No further message: only whether there still is somebody.
    pollfd fds[] = {{.fd = follower_.fd(), .events = POLLIN, .revents = 0},
                    {.fd = connection_, .events = POLLRDHUP, .revents = 0}};
    ::poll(fds, 2, static_cast<int>(kInputLook.count()));
    if (fds[1].revents != 0) return WebSocket::Wake::Gone;
    return fds[0].revents != 0 ? WebSocket::Wake::Fd : WebSocket::Wake::Timeout;
  }

  // What there is now; false when nothing more is to be done.
  bool send_output() {
    Result<std::vector<engine::Chunk>> chunks = follower_.next(kAtOnce);
    if (!chunks) return tell(chunks.error()), false;
    for (const engine::Chunk& chunk : *chunks)
      if (!socket_.send(WebSocket::Kind::Binary, frame(chunk))) return false;
    if (!chunks->empty() || !follower_.at_end()) return true;
    tell_end();
    return false;
  }

  void tell_end() {
    Result<ExecResult> result = engine::result_of(exec_);
    if (!result) {
      tell(result.error());
    } else {
      Json exit = {{"type", "exit"}, {"seq", exec_.info().next_seq}};
      (void)socket_.send(WebSocket::Kind::Text, dump_with(exit, "result", result_json(*result)));
    }
    socket_.close(kNormal, "");
  }

  void tell(const Problem& problem) {
    (void)socket_.send(WebSocket::Kind::Text, to_json(problem, request_id_, "error"));
  }

  // As much as the program takes now.
  void give_input() {
    if (!input_.empty()) {
      Result<size_t> taken = exec_.offer_input(input_, milliseconds(0));
      if (!taken) {
        tell(taken.error());
        input_.clear();
      } else {
        input_.erase(0, *taken);
      }
    }
    if (!input_.empty() || !std::exchange(closes_input_, false)) return;
    if (Result<void> closed = exec_.close_input(); !closed) tell(closed.error());
  }

  // A message that cannot be understood or done is answered, and that is all.
  void take_message() {
    Result<WebSocket::Message> message = socket_.receive();
    if (!message) return;
    Outcome outcome = message->kind == WebSocket::Kind::Binary ? take_input(message->data) : take_text(message->data);
    if (!outcome) tell(outcome.error());
  }

  Outcome take_input(std::string_view data) {
    if (closes_input_) return refuse(409, "conflict", "the input is closed");
    input_ += data;
    return {};
  }

  Outcome take_text(const std::string& text) {
    Json json = COVE_TRY(parse_object(text));
    Fields fields(json);
    std::string type = COVE_TRY(required(fields, "type", fields.text("type")));
    if (type == "stdin") return take_stdin(fields);
    if (type == "close_stdin") return take_close(fields);
    if (type == "resize") return take_resize(fields);
    if (type == "signal") return take_kill(fields);
    std::string near = closest(type, {"stdin", "close_stdin", "resize", "signal"});
    return refuse(Problem(400, "invalid", concat("there is no message of type '", type, "'"))
                      .advise(near.empty() ? "" : concat("did you mean '", near, "'?")));
  }

  Outcome take_stdin(Fields& fields) {
    auto data = COVE_TRY(take_bytes(fields));
    COVE_TRY(fields.finish());
    if (!data) return invalid("one of 'text' and 'base64' must be given");
    return take_input(*data);
  }

  Outcome take_close(Fields& fields) {
    COVE_TRY(fields.finish());
    closes_input_ = true;
    return {};
  }

  Outcome take_resize(Fields& fields) {
    WindowSize size = COVE_TRY(take_window(fields));
    COVE_TRY(fields.finish());
    COVE_TRY(exec_.resize(size));
    return {};
  }

  Outcome take_kill(Fields& fields) {
    SignalRequest request = COVE_TRY(take_signal(fields));
    COVE_TRY(fields.finish());
    COVE_TRY(exec_.signal(request.number, request.group));
    return {};
  }

  WebSocket& socket_;
  int connection_;
  std::string request_id_;
  engine::Exec& exec_;
  engine::Follower& follower_;
  std::string input_;          // not taken yet
  bool closes_input_ = false;  // when all of it is taken
};

Outcome attach(Call& call) {
  auto from = static_cast<uint64_t>(COVE_TRY(integer_parameter(call.request(), "from", 1, INT64_MAX)).value_or(1));
  auto exec = COVE_TRY(call.engine().find_exec(call.caller, call.sandbox(), call.captured("exec"), Scope::Run));
  auto follower = COVE_TRY(exec->follow(from));
  auto socket = COVE_TRY(call.exchange.upgrade());
  std::string id = exec->info().id;
  call.service().attendance().begin(id);
  Parting parting = Attached(*socket, call.exchange, *exec, *follower).serve();
  call.service().attendance().end(id, parting);
  return {};
}

}  // namespace

void add_attach(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/execs/{exec}/attach", kTokenRun, attach, {"from"});
}

}  // namespace cove::api
