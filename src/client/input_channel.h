#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "client/connection.h"
#include "client/http.h"

namespace cove::client {

// An exec's standard input, over a connection of its own, so that output and signals elsewhere never wait behind it.
// For a poll loop: nothing here waits. One piece at a time is on its way.
class InputChannel {
 public:
  // `target`: …/execs/{exec}/stdin
  InputChannel(const Http& http, std::string target) : http_(http), target_(std::move(target)) {}

  // Ready for the next piece.
  bool idle() const { return !under_way_; }
  // What to wait for; fd -1 where nothing is under way.
  int fd() const { return under_way_ ? connection_->fd() : -1; }
  short wanted() const;

  enum class Then { KeepOpen, Close };
  Result<void> send(std::string piece, Then then);
  // After poll. Conflict: the program takes no more. Unavailable: the connection is lost, or the server.
  Result<void> move(short revents);

 private:
  Result<void> begin();
  Result<void> receive();
  Result<void> give_up(Result<void> moved);
  Result<void> transmit();
  Result<void> conclude(const ResponseHead& head, const std::string& body);

  const Http& http_;
  std::string target_;
  std::unique_ptr<Connection> connection_;
  bool under_way_ = false;
  std::string piece_;
  Then then_ = Then::KeepOpen;
  std::string out_;
  size_t sent_ = 0;
};

}  // namespace cove::client
