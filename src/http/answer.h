#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "http/wire.h"

namespace cove::http {

// The answer to one request, as it goes onto the wire.
class Answer {
 public:
  struct Question {
    bool http11 = true;
    bool head = false;       // HEAD: no body
    bool keep_alive = true;  // the client would like to
    std::string request_id;  // empty: the answer has none
  };
  Answer(Wire& wire, milliseconds patience, Question question)
      : wire_(wire), patience_(patience), question_(question), keep_(question.keep_alive) {}

  Result<void> respond(int status, const Headers& headers, std::string_view body);
  Result<void> begin(int status, const Headers& headers, std::optional<uint64_t> length);
  Result<void> write(std::string_view data);
  Result<void> send_file(int fd, uint64_t offset, uint64_t count);
  Result<void> end();
  // 101, with nothing of ours in it: what follows is no HTTP.
  Result<void> switch_protocols(const Headers& headers);
  // Sends a head that waits for the first piece of its body.
  Result<void> flush();

  // It is another server's, and has its Date and id. A browser may take its time, as with a film.
  void pass_on() {
    constexpr milliseconds kPatience = std::chrono::minutes(10);
    patience_ = kPatience;
    dated_ = false;
    question_.request_id.clear();
  }

  // The connection ends with this answer.
  void close_after() { keep_ = false; }

  bool begun() const { return state_ != State::Fresh; }
  bool whole() const { return state_ == State::Ended || (state_ == State::Known && left_ == 0 && held_.empty()); }
  int status() const { return status_; }
  // Whether another request may follow.
  bool keeps_connection() const { return keep_ && whole(); }

 private:
  enum class State { Fresh, Known, Chunked, UntilClose, Ended, Broken };

  Result<void> check_fresh() const;
  std::string make_head(int status, const Headers& headers, std::optional<uint64_t> length);
  Result<void> put(std::span<iovec> pieces, Stream::More more = Stream::More::No);
  Result<void> put(std::string_view data, Stream::More more = Stream::More::No);
  Result<void> noted(Result<void> result);
  Result<void> reserve(uint64_t count);
  Result<void> send_from(int fd, uint64_t offset, uint64_t count);
  Result<void> copy_from(int fd, uint64_t offset, uint64_t count);

  Wire& wire_;
  milliseconds patience_;
  Question question_;
  State state_ = State::Fresh;
  bool keep_;
  bool dated_ = true;
  bool bodiless_ = false;  // HEAD, 204, 304: what is written goes nowhere
  int status_ = 0;
  uint64_t left_ = 0;  // of a body of known length
  std::string held_;   // a head that waits for the first piece of its body
};

}  // namespace cove::http
