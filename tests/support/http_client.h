#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

// A small HTTP client for tests: blocking, one connection for each request, over a Unix socket or TCP.
namespace cove::test {

struct Endpoint {
  std::string path;   // of a Unix socket; else
  uint16_t port = 0;  // at 127.0.0.1
};

using HeaderMap = std::map<std::string, std::string>;  // names in small letters

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  HeaderMap headers;
  std::string body;
};

struct HttpResponse {
  int status = 0;  // 0: there was no answer
  HeaderMap headers;
  std::string body;
  bool whole = false;           // it came to its end
  nlohmann::json json() const;  // discarded where the body is none
};

// An answer that is read as it comes.
class HttpStream {
 public:
  HttpStream(const Endpoint& endpoint, const HttpRequest& request);

  int status() const { return status_; }
  const HeaderMap& headers() const { return headers_; }
  // Some of the body, decoded; empty at its end.
  std::string read();
  bool whole() const { return whole_; }

  struct Event {
    std::string id;
    std::string name;
    nlohmann::json data;
  };
  // The next Server-Sent Event, without comments; nothing at the end.
  std::optional<Event> next_event();
  void close() { socket_.reset(); }

  // After a handshake: WebSocket frames. Of the server's: {opcode, data}.
  struct Frame {
    int opcode = 0;  // 1 text, 2 binary, 8 close; -1 where the connection is gone
    std::string data;
  };
  void send_frame(int opcode, std::string_view data);
  Frame next_frame();

 private:
  bool fill();
  std::string line();
  std::string take(size_t count);
  std::string read_chunk();

  UniqueFd socket_;
  std::string buffer_;
  int status_ = 0;
  HeaderMap headers_;
  bool chunked_ = false;
  std::optional<size_t> left_;  // of a body of known length
  size_t chunk_left_ = 0;
  bool whole_ = false;
  std::string events_;  // text that was read and not yet taken
};

// A request whose answer is not waited for.
class PendingRequest {
 public:
  PendingRequest(const Endpoint& endpoint, const HttpRequest& request);
  void hang_up() { socket_.reset(); }

 private:
  UniqueFd socket_;
};

HttpResponse fetch(const Endpoint& endpoint, const HttpRequest& request);

// Sends the request, though its body may be shorter than its Content-Length says, and hangs up.
void send_and_hang_up(const Endpoint& endpoint, const HttpRequest& request);

// A WebSocket; status() is 101 where it is open.
HttpStream open_websocket(const Endpoint& endpoint, const std::string& target, HeaderMap headers = {});

}  // namespace cove::test
