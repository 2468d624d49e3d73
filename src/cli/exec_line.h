#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "client/websocket.h"
#include "model/exec.h"

namespace cove::cli {

// A message from an exec.
struct ExecMessage {
  enum class Kind { Out, Err, Exit, Problem };
  Kind kind = Kind::Out;
  uint64_t seq = 0;  // of output
  std::string data;  // output
  Json json;         // the result, or the problem
};

// A connection that carries an exec's output and signals. For a poll loop: nothing here blocks, except for the moment
// that a signal takes over `over_events`.
class ExecLine {
 public:
  virtual ~ExecLine() = default;
  virtual int fd() const = 0;
  virtual short wanted() const = 0;
  // Call after poll. Unavailable if the connection broke.
  virtual Result<void> move(short revents) = 0;
  virtual Result<std::optional<ExecMessage>> next() = 0;
  // The server has closed the connection normally.
  virtual bool closed() const = 0;
  // Does nothing if the exec has ended meanwhile.
  virtual void send_signal(int number, bool group) = 0;
  virtual void send_size(WindowSize size) = 0;
  virtual void close() = 0;
};

std::unique_ptr<ExecLine> over_websocket(client::WebSocket socket);

// The stream that answers POST /v1/execute, after `start`. Signals take a connection of their own. The body must
// outlive it.
struct ExecName {
  std::string sandbox;
  std::string exec;
};
std::unique_ptr<ExecLine> over_events(Api& api, client::EventStream events, ExecName name);

}  // namespace cove::cli
