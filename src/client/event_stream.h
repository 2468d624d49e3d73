#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/body.h"

namespace cove::client {

// One Server-Sent Event.
struct ServerEvent {
  std::string id;     // of the last event that had one
  std::string event;  // "message" where it has no name
  std::string data;
};

// Text of a stream into events, as the standard has it: lines end with LF, CR or CRLF; comments are passed over; an
// event without data, or one that breaks off, is none.
class EventParser {
 public:
  void feed(std::string_view text);
  std::optional<ServerEvent> next();

 private:
  void take_line(std::string_view line);
  void take_field(std::string_view name, std::string_view value);
  void dispatch();

  std::string line_;
  bool after_return_ = false;
  bool begun_ = false;
  std::string id_;
  std::string event_;
  std::string data_;
  std::vector<ServerEvent> ready_;
  size_t taken_ = 0;
};

// The events of an answer's body, as they come.
class EventStream {
 public:
  explicit EventStream(Body& body) : body_(body) {}
  // Nothing at the end of the stream.
  Result<std::optional<ServerEvent>> next();
  // The same without waiting: nothing where there is none yet.
  Result<std::optional<ServerEvent>> next_ready();

 private:
  Result<bool> read_some();

  Body& body_;
  EventParser parser_;
};

}  // namespace cove::client
