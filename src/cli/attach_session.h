#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/exec_line.h"
#include "cli/output_buffer.h"
#include "cli/session.h"
#include "client/input_channel.h"
#include "run/caller.h"

namespace cove::cli {

// What to do with an exec's streams.
struct AttachOrder {
  enum class Show { Output, Nothing };
  Show show = Show::Output;
  // What the end of this process's terminal or input means for the exec: it ends too, or it keeps running.
  enum class OnHangup { End, Detach };
  OnHangup on_hangup = OnHangup::End;
  bool input = true;         // forward standard input
  bool terminal = false;     // the exec has one: it receives every key and has our terminal's size
  bool detach_keys = false;  // Ctrl-P Ctrl-Q leaves it running
  uint64_t from = 1;         // number of the first chunk of output wanted
};

// Carries the streams and signals of one exec between this process and the server, until the exec ends.
class AttachSession {
 public:
  // Attaches, starting with the chunk of output of that number; called again when the connection is lost.
  using Connect = std::function<Result<std::unique_ptr<ExecLine>>(uint64_t from)>;
  AttachSession(const AttachOrder& order, Caller& caller, Connect connect, client::InputChannel input);

  // The exec's result; empty if the user has detached.
  Result<std::optional<Json>> run();

 private:
  Result<void> turn();
  Result<void> repeat();
  Result<void> take_a_little();
  Result<void> reconnect(Error cause);
  void on_signals();
  void on_signal(const Caller::Signal& signal);
  Result<void> on_input();
  Result<void> on_input_end();
  Result<void> on_input_sent(short revents);
  bool takes_detach_keys(std::string& data);
  Result<void> on_messages();
  void on_message(ExecMessage message);
  void deliver(OutputBuffer& output, std::string_view data);
  void send_size();
  bool wants_messages() const { return out_.empty() && err_.empty(); }
  bool detaches() const { return order_.on_hangup == AttachOrder::OnHangup::Detach; }
  int patience() const;

  AttachOrder order_;
  Caller& caller_;
  Connect connect_;
  std::unique_ptr<ExecLine> line_;
  client::InputChannel input_;
  OutputBuffer out_;
  OutputBuffer err_;
  const bool input_is_terminal_;
  bool input_open_;
  bool presses_end_key_ = false;  // the input has ended: the exec's terminal sees Ctrl-D until the exec ends
  bool hangs_up_ = false;         // this process must end: the exec gets SIGHUP until it ends
  bool key_pressed_ = false;      // Ctrl-P, which may begin the detach keys
  bool left_ = false;
  uint64_t next_;
  std::optional<Error> complaint_;
  std::optional<Json> result_;
};

}  // namespace cove::cli
