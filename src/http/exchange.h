#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/tunnel.h"
#include "http/websocket.h"
#include "http1/head.h"

namespace cove::http {

using Headers = http1::Headers;

// Who is at the other end.
struct Peer {
  bool local = false;  // a Unix socket: uid and pid are the kernel's word
  uint32_t uid = 0;
  int32_t pid = 0;
  bool nested = false;  // local, and in a namespace of processes below this one's: a sandbox, or another container
  std::string address;  // TCP: "127.0.0.1:4711"
  bool encrypted = false;
};

struct Request {
  std::string method;
  std::string target;                                      // as it came
  std::string path;                                        // without the query, not decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded
  Headers headers;
  std::map<std::string, std::string> captures;  // by the route's pattern, decoded
  Peer peer;
  std::string id;  // the caller's X-Request-Id where that is well-formed, else one of our own; every answer has it

  // Sets `id`, once the headers are there.
  void take_id();

  // The first header or query parameter of that name (headers: whatever the case); nothing where there is none.
  std::optional<std::string_view> header(std::string_view name) const;
  std::optional<std::string_view> parameter(std::string_view name) const;
};

// One request and its answer, used by the one thread that handles it. All calls block, but never longer than the
// server's patience with a stuck peer; Unavailable when the peer is gone or too slow. Patience is with no progress at
// all, not with the whole.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  // The connection's socket, for asking the kernel who is at its other end; -1 where there is none.
  virtual int connection() const { return -1; }

  // The caller has shown who he is: his connection does not count as a stranger's any more (strangers.h).
  virtual void vouch() {}

  // The body, chunked or not, as it comes; 0 at its end. Invalid where it is malformed.
  virtual Result<size_t> read(std::span<char> buffer) = 0;
  // All of it; Exhausted where it is longer than `most`.
  virtual Result<std::string> read_all(size_t most) = 0;
  // All of it into a descriptor, by splice where that is possible; returns the number of bytes. An error that is not
  // Unavailable or Invalid is the descriptor's.
  virtual Result<uint64_t> read_to(int fd) = 0;

  // Some of the body, without waiting for it, but where it is told in chunks and half of one's head has come.
  struct Piece {
    size_t bytes = 0;
    bool waits = false;  // nothing has come yet; with neither, it is the end
  };
  virtual Result<Piece> try_read(std::span<char> buffer) = 0;
  // The client sends the body when it is asked for, by the first attempt to read it.
  virtual bool holds_body_back() const = 0;
  // From now on the answer is another server's: it has no Date and no X-Request-Id of ours.
  virtual void pass_on() = 0;

  // A whole answer. Bodies of HEAD are left out by this, their Content-Length is kept. Content-Length and
  // Transfer-Encoding among the headers are left out (they follow from the answer); `Connection: close` is heeded.
  virtual Result<void> respond(int status, const Headers& headers, std::string_view body) = 0;
  // An answer in pieces: of known length, or chunked (or, to HTTP/1.0, until the end of the connection). The head of
  // one of known length leaves with its first piece. An answer that has no `end` when the handler returns, or less than
  // its length, is broken off: the client sees that it is not whole.
  virtual Result<void> begin(int status, const Headers& headers, std::optional<uint64_t> length) = 0;
  virtual Result<void> write(std::string_view data) = 0;
  // `count` bytes at `offset` of a file (of what is no regular file: the next bytes), by sendfile where that is
  // possible.
  virtual Result<void> send_file(int fd, uint64_t offset, uint64_t count) = 0;
  virtual Result<void> end() = 0;
  virtual bool begun() const = 0;  // an answer has been started

  // Ends the connection at TCP level (a reset; a Unix socket is closed), in the middle of whatever was being sent.
  virtual void cut() = 0;

  // Waits until `fd` is readable (pass -1 for none), the peer has gone, time is up, or the server is stopping. Of
  // several, Gone comes first, then Stopping (again at each call), then Ready. A peer that has ended its side of the
  // connection counts as gone: that it only will not send more cannot be told from a close. Requests that it has sent
  // already, and did not wait with, do not count.
  enum class Wake { Ready, Gone, Timeout, Stopping };
  virtual Wake wait(int fd, std::chrono::milliseconds patience) = 0;
  // The same for one who passes things on: Ready also comes when there is some of the body, if that is wanted, and
  // `events` (of poll) say what is awaited of `fd`. While the body is not whole, a peer that ends its side has not
  // gone.
  enum class Want { Body, Nothing };
  virtual Wake wait(int fd, short events, Want want, std::chrono::milliseconds patience) = 0;

  // 101 with these headers. What follows is no HTTP, and the caller's. The exchange must outlive it.
  virtual Result<std::unique_ptr<Tunnel>> switch_protocols(const Headers& headers) = 0;

  // Answers a WebSocket handshake; Invalid where the request is none (nothing is answered then), Unsupported where it
  // wants another version (426 is answered). The exchange must outlive it.
  virtual Result<std::unique_ptr<WebSocket>> upgrade(const Headers& headers = {}) = 0;
};

}  // namespace cove::http
