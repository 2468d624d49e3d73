#include "cli/attach_session.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "base/text.h"
#include "client/problem.h"

namespace cove::cli {
namespace {

constexpr size_t kPortion = 64 * 1024;
constexpr size_t kMostWaiting = 256 << 20;
constexpr int kStalled = 10'000;  // milliseconds
constexpr char kFirstKey = 'p' & 0x1f;
constexpr char kSecondKey = 'q' & 0x1f;
constexpr size_t kOutputHead = 9;
constexpr int kAttempts = 50;
constexpr auto kSettle = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(200);

uint64_t read_number(std::string_view bytes) {
  uint64_t number = 0;
  for (char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

AttachSession::AttachSession(const AttachOrder& order, Caller& caller, Connect connect, client::InputChannel input)
    : order_(order),
      caller_(caller),
      connect_(std::move(connect)),
      input_(std::move(input)),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      input_open_(order.input),
      next_(order.from) {}

Result<std::optional<Json>> AttachSession::run() {
  socket_.emplace(COVE_TRY(connect_(next_)));
  if (order_.terminal) caller_.enter_raw_mode();
  if (order_.terminal) send_size();
  COVE_TRY(on_messages());
  while (!result_ && !left_) {
    Result<void> turned = turn();
    if (socket_->closed() && !result_ && complaint_) return fail(*complaint_);
    if (turned && socket_->closed() && !result_) turned = fail(Code::Unavailable, "the server closed the connection");
    if (!turned) COVE_TRY(reconnect(std::move(turned).error()));
  }
  Result<void> finished = finish(out_, err_);
  socket_->close();
  COVE_TRY(std::move(finished));
  return std::move(result_);
}

// A server may be replaced while its sandboxes go on. Where input was on its way, it must be known what became of it;
// but somebody who sits at a terminal sees it.
Result<void> AttachSession::reconnect(Error cause) {
  if (cause.code() != Code::Unavailable) return fail(std::move(cause));
  Result<void> settled = input_.settle(kSettle);
  if (!settled && !order_.terminal) return settled;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<client::WebSocket> again = connect_(next_);
    if (again) {
      socket_.emplace(std::move(*again));
      return settled ? input_.resume() : Result<void>();
    }
    if (again.error().code() != Code::Unavailable) return fail(std::move(again).error());
    std::this_thread::sleep_for(kPause);
  }
  return fail(std::move(cause));
}

Result<void> AttachSession::turn() {
  // Output that cannot be written yet is not read either: then the program waits.
  short wanted = static_cast<short>(socket_->wanted() & (wants_messages() ? POLLIN | POLLOUT : POLLOUT));
  pollfd polled[6] = {{wanted != 0 ? socket_->fd() : -1, wanted, 0},
                      {caller_.signals(), POLLIN, 0},
                      {input_open_ && input_.idle() ? STDIN_FILENO : -1, POLLIN, 0},
                      {input_.fd(), input_.wanted(), 0},
                      out_.wanted(),
                      err_.wanted()};
  int ready = ::poll(polled, 6, wants_messages() ? -1 : kStalled);
  if (ready < 0 && errno != EINTR) return fail_errno("poll");
  if (ready == 0) return take_a_little();
  out_.move(polled[4].revents);
  err_.move(polled[5].revents);
  if (polled[1].revents != 0) on_signals();
  // What came is read before anything is sent: it may be the end.
  COVE_TRY(socket_->move(polled[0].revents));
  COVE_TRY(on_messages());
  if (result_ || left_) return {};
  COVE_TRY(on_input_sent(polled[3].revents));
  if (polled[2].revents != 0) return on_input();
  return {};
}

// Whoever reads our output has stopped, perhaps for long. A server gives up on a caller who takes nothing at all.
Result<void> AttachSession::take_a_little() {
  if (out_.size() + err_.size() > kMostWaiting) return {};
  COVE_TRY(socket_->move(POLLIN));
  return on_messages();
}

void AttachSession::on_signals() {
  while (std::optional<Caller::Signal> signal = caller_.next_signal()) {
    if (signal->number == SIGWINCH)
      send_size();
    else
      send({{"type", "signal"}, {"signal", signal->number}, {"group", signal->from_terminal}});
  }
}

void AttachSession::send_size() {
  if (!order_.terminal) return;
  WindowSize size = Caller::window_size();
  send({{"type", "resize"}, {"rows", size.rows}, {"cols", size.columns}});
}

Result<void> AttachSession::on_input() {
  std::string data(kPortion, '\0');
  ssize_t count = ::read(STDIN_FILENO, data.data(), data.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  data.resize(count > 0 ? static_cast<size_t>(count) : 0);
  if (data.empty()) {
    input_open_ = false;
    return input_.send("", client::InputChannel::Then::Close);
  }
  if (takes_detach_keys(data) || data.empty()) return {};
  return input_.send(std::move(data), client::InputChannel::Then::KeepOpen);
}

// A program that reads no more, or has ended, is no error: what it was sent is not wanted.
Result<void> AttachSession::on_input_sent(short revents) {
  Result<void> moved = input_.move(revents);
  if (moved || moved.error().code() == Code::Unavailable) return moved;
  input_open_ = false;
  return {};
}

// The first key is held back until the next one tells what it was meant for.
bool AttachSession::takes_detach_keys(std::string& data) {
  if (!order_.detach_keys) return false;
  std::string passed;
  for (char c : data) {
    if (key_pressed_ && c == kSecondKey) return left_ = true;
    if (key_pressed_) passed += kFirstKey;
    key_pressed_ = c == kFirstKey;
    if (!key_pressed_) passed += c;
  }
  data = std::move(passed);
  return false;
}

Result<void> AttachSession::on_messages() {
  while (!result_ && !left_) {
    std::optional<client::WebSocketMessage> message = COVE_TRY(socket_->next());
    if (!message) return {};
    if (message->opcode == client::Opcode::Binary)
      COVE_TRY(on_output(message->data));
    else
      COVE_TRY(on_text(message->data));
  }
  return {};
}

// 1 byte: which stream; 8 bytes: its number; the data.
Result<void> AttachSession::on_output(std::string_view data) {
  if (data.size() < kOutputHead || data[0] < 1 || data[0] > 2)
    return fail(Code::Internal, "the server has sent a piece of output without its head");
  next_ = read_number(data.substr(1, 8)) + 1;
  deliver(data[0] == 1 ? out_ : err_, data.substr(kOutputHead));
  return {};
}

// Where nobody reads the output any more, the program learns it as it would have from its pipe.
void AttachSession::deliver(Sink& sink, std::string_view data) {
  if (order_.show == AttachOrder::Show::Nothing) return;
  if (!sink.broken()) return sink.add(data);
  if (sink.unread()) send({{"type", "signal"}, {"signal", SIGPIPE}, {"group", true}});
}

Result<void> AttachSession::on_text(const std::string& text) {
  Json message = COVE_TRY(client::parse_json(text));
  std::string type = client::text_of(message, "type");
  if (type == "exit") result_ = client::field(message, "result");
  // A signal that came too late is none; what is serious is followed by the connection's end.
  if (type == "error")
    complaint_ = client::read_problem(message, static_cast<int>(client::number_of(message, "status")));
  return {};
}

void AttachSession::send(const Json& message) { socket_->send(client::Opcode::Text, client::dump(message)); }

}  // namespace cove::cli
