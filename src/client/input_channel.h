#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/connection.h"
#include "client/http.h"

namespace cove::client {

// An exec's standard input, over a connection of its own, so that output and signals elsewhere never wait behind it.
// For a poll loop: nothing here waits, but for `settle`. One piece at a time is on its way, and the server tells when
// the program has taken it; so it is known what would be lost with a server.
class InputChannel {
 public:
  // `target`: …/execs/{exec}/stdin
  InputChannel(const Http& http, std::string target) : http_(http), target_(std::move(target)) {}

  // Ready for the next piece.
  bool idle() const { return state_ == State::Idle; }
  // What to wait for; fd -1 where nothing is under way.
  int fd() const { return state_ == State::UnderWay ? connection_->fd() : -1; }
  short wanted() const;

  enum class Then { KeepOpen, Close };
  Result<void> send(std::string piece, Then then);
  // After poll. Conflict: the program takes no more. Unavailable: the connection is lost, or the server ends.
  Result<void> move(short revents);

  // After the server was lost: waits for a moment until it is known what became of the piece. Unavailable where it is
  // not: then input may be lost.
  Result<void> settle(std::chrono::milliseconds patience);
  // Sends what the old server has not given to the program to the new one.
  Result<void> resume();

 private:
  // Left: the server has told how much of the piece was taken; the rest is still to be sent. Lost: nobody knows.
  enum class State { Idle, UnderWay, Left, Lost };

  Result<void> begin();
  Result<void> transmit();
  Result<void> receive();
  Result<void> conclude(const ResponseHead& head, const std::string& body);
  Result<void> checked(Result<void> moved);

  const Http& http_;
  std::string target_;
  std::unique_ptr<Connection> connection_;
  State state_ = State::Idle;
  std::string piece_;
  Then then_ = Then::KeepOpen;
  std::string out_;
  size_t sent_ = 0;
};

}  // namespace cove::client
