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
constexpr int kStalled = 10'000;     // milliseconds
constexpr int kRepeatPause = 1'000;  // milliseconds
constexpr char kFirstKey = 'p' & 0x1f;
constexpr char kSecondKey = 'q' & 0x1f;
constexpr int kAttempts = 50;
constexpr auto kSettle = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(200);

}  // namespace

AttachSession::AttachSession(const AttachOrder& order, Caller& caller, Connect connect, client::InputChannel input)
    : order_(order),
      caller_(caller),
      connect_(std::move(connect)),
      input_(std::move(input)),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      input_is_terminal_(::isatty(STDIN_FILENO) == 1),
      input_open_(order.input),
      next_(order.from) {}

Result<std::optional<Json>> AttachSession::run() {
  line_ = COVE_TRY(connect_(next_));
  if (order_.terminal) caller_.enter_raw_mode();
  if (order_.terminal) send_size();
  COVE_TRY(on_messages());
  while (!result_ && !left_) {
    Result<void> turned = turn();
    if (line_->closed() && !result_ && complaint_) return fail(*complaint_);
    if (turned && line_->closed() && !result_) turned = fail(Code::Unavailable, "the server closed the connection");
    if (!turned) COVE_TRY(reconnect(std::move(turned).error()));
  }
  Result<void> finished = finish(out_, err_);
  line_->close();
  COVE_TRY(std::move(finished));
  return std::move(result_);
}

// The server may be replaced while its sandboxes keep running. If input was in transit, it must be clear whether it
// arrived; a user at a terminal can see that.
Result<void> AttachSession::reconnect(Error cause) {
  if (cause.code() != Code::Unavailable) return fail(std::move(cause));
  Result<void> settled = input_.settle(kSettle);
  if (!settled && !order_.terminal) return settled;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<std::unique_ptr<ExecLine>> again = connect_(next_);
    if (again) {
      line_ = std::move(*again);
      return settled ? input_.resume() : Result<void>();
    }
    if (again.error().code() != Code::Unavailable) return fail(std::move(again).error());
    std::this_thread::sleep_for(kPause);
  }
  return fail(std::move(cause));
}

Result<void> AttachSession::turn() {
  // While output cannot be written, no more is read, so that the program blocks.
  short wanted = static_cast<short>(line_->wanted() & (wants_messages() ? POLLIN | POLLOUT : POLLOUT));
  pollfd polled[6] = {{wanted != 0 ? line_->fd() : -1, wanted, 0},
                      {caller_.signals(), POLLIN, 0},
                      {input_open_ && input_.idle() ? STDIN_FILENO : -1, POLLIN, 0},
                      {input_.fd(), input_.wanted(), 0},
                      out_.wanted(),
                      err_.wanted()};
  int ready = ::poll(polled, 6, patience());
  if (ready < 0 && errno != EINTR) return fail_errno("poll");
  if (ready == 0 && !wants_messages()) return take_a_little();
  if (ready == 0) return repeat();
  out_.move(polled[4].revents);
  err_.move(polled[5].revents);
  if (polled[1].revents != 0) on_signals();
  // Read what has arrived before sending anything: the exec may have ended.
  COVE_TRY(line_->move(polled[0].revents));
  COVE_TRY(on_messages());
  if (result_ || left_) return {};
  COVE_TRY(on_input_sent(polled[3].revents));
  if (polled[2].revents != 0) return on_input();
  return {};
}

int AttachSession::patience() const {
  if (!wants_messages()) return kStalled;
  return presses_end_key_ || hangs_up_ ? kRepeatPause : -1;
}

// A program may miss Ctrl-D while it changes the mode of its terminal, and bash a SIGHUP that comes just before it
// waits for a key.
Result<void> AttachSession::repeat() {
  if (hangs_up_) line_->send_signal(SIGHUP, true);
  if (!presses_end_key_ || !input_.idle()) return {};
  return input_.send("", client::InputChannel::Then::Close);
}

// The reader of our output has stopped, perhaps for a long time. The server drops a caller that reads nothing at all.
Result<void> AttachSession::take_a_little() {
  if (out_.size() + err_.size() > kMostWaiting) return {};
  COVE_TRY(line_->move(POLLIN));
  return on_messages();
}

void AttachSession::on_signals() {
  while (std::optional<Caller::Signal> signal = caller_.next_signal()) on_signal(*signal);
}

void AttachSession::on_signal(const Caller::Signal& signal) {
  if (signal.number == SIGWINCH) return send_size();
  const bool ends_us = signal.number == SIGHUP || (signal.number == SIGTERM && order_.terminal);
  if (ends_us && detaches()) {
    left_ = true;
    return;
  }
  line_->send_signal(signal.number, signal.from_terminal);
  if (!ends_us || !order_.terminal) return;
  // An interactive shell ignores SIGTERM, but not the loss of its terminal.
  if (signal.number == SIGTERM) line_->send_signal(SIGHUP, true);
  hangs_up_ = true;
}

void AttachSession::send_size() {
  if (!order_.terminal) return;
  line_->send_size(Caller::window_size());
}

Result<void> AttachSession::on_input() {
  std::string data(kPortion, '\0');
  ssize_t count = ::read(STDIN_FILENO, data.data(), data.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  data.resize(count > 0 ? static_cast<size_t>(count) : 0);
  if (data.empty()) return on_input_end();
  if (takes_detach_keys(data) || data.empty()) return {};
  return input_.send(std::move(data), client::InputChannel::Then::KeepOpen);
}

Result<void> AttachSession::on_input_end() {
  input_open_ = false;
  const bool hung_up = input_is_terminal_ && ::isatty(STDIN_FILENO) != 1;
  if (detaches() && hung_up) left_ = true;
  if (detaches() && (hung_up || order_.terminal)) return {};
  presses_end_key_ = order_.terminal;
  return input_.send("", client::InputChannel::Then::Close);
}

// It is not an error if the program has closed its input or has ended: the data is dropped.
Result<void> AttachSession::on_input_sent(short revents) {
  Result<void> moved = input_.move(revents);
  if (moved || moved.error().code() == Code::Unavailable) return moved;
  input_open_ = false;
  return {};
}

// The first key is held back until the next one shows what it was meant for.
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
    std::optional<ExecMessage> message = COVE_TRY(line_->next());
    if (!message) return {};
    on_message(std::move(*message));
  }
  return {};
}

void AttachSession::on_message(ExecMessage message) {
  switch (message.kind) {
    case ExecMessage::Kind::Out:
    case ExecMessage::Kind::Err:
      next_ = message.seq + 1;
      return deliver(message.kind == ExecMessage::Kind::Out ? out_ : err_, message.data);
    case ExecMessage::Kind::Exit:
      result_ = std::move(message.json);
      return;
    // A signal that arrives too late is ignored; after a serious failure the connection ends.
    case ExecMessage::Kind::Problem:
      complaint_ = client::read_problem(message.json, static_cast<int>(client::number_of(message.json, "status")));
  }
}

// If the reader of the output is gone, the program gets SIGPIPE, as it would from its own pipe.
void AttachSession::deliver(OutputBuffer& output, std::string_view data) {
  if (order_.show == AttachOrder::Show::Nothing) return;
  if (!output.broken()) return output.add(data);
  if (output.unread()) line_->send_signal(SIGPIPE, true);
}

}  // namespace cove::cli
