#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/server.h"

// A server for tests, and a client that says exactly what it is told to.
namespace cove::http::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Listens at a Unix socket in a folder of its own and at a port of 127.0.0.1, with the same routes.
class TestServer {
 public:
  explicit TestServer(const std::function<void(Router&)>& add_routes, ServerOptions options = {},
                      ListenerOptions listener = {});
  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  const std::string& unix_path() const { return unix_path_; }
  uint16_t port() const { return port_; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  std::string unix_path_;
  uint16_t port_ = 0;
  std::unique_ptr<Server> server_;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;
  bool whole = false;  // it ended as it said it would
};

// A connection that waits at most ten seconds for anything.
class Client {
 public:
  explicit Client(UniqueFd socket);
  static Client local(const std::string& path);
  static Client local(const TestServer& server) { return local(server.unix_path()); }
  static Client tcp(uint16_t port);
  static Client tcp(const TestServer& server) { return tcp(server.port()); }

  // False where the server has closed.
  bool send(std::string_view bytes);
  void end_sending();
  Reply receive(std::string_view method = "GET");
  Reply ask(std::string_view bytes);
  // "GET /path" in HTTP/1.1.
  Reply get(const std::string& path) { return ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"); }

  std::string read_exactly(size_t count);  // less at the end
  std::string read_to_end();
  // Whether the connection ends, with nothing more said.
  bool ends();
  // The errno of the read that ended it (0 for a plain end).
  int end_error() const { return end_error_; }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  bool fill();
  std::optional<std::string> read_line();

  UniqueFd socket_;
  std::string buffer_;
  int end_error_ = 0;
};

// A frame as a client sends it.
std::string masked_frame(uint8_t first_byte, std::string_view payload);

}  // namespace cove::http::testing
