#include "http/test_support.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/ascii.h"
#include "http1/websocket_frame.h"

namespace cove::http::testing {

TempFolder::TempFolder() {
  char name[] = "/tmp/cove-http-XXXXXX";
  path_ = ::mkdtemp(name);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TestServer::TestServer(const std::function<void(Router&)>& add_routes, ServerOptions options, ListenerOptions listener)
    : unix_path_(folder_.file("socket")) {
  server_ = Server::create(options).value();
  auto routes = std::make_shared<Router>();
  add_routes(*routes);
  UniqueFd tcp = listen_tcp("127.0.0.1", 0).value();
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  ::getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  EXPECT_TRUE(server_->listen(listen_unix_stream(unix_path_, 0600).value(), routes, listener));
  EXPECT_TRUE(server_->listen(std::move(tcp), routes, listener));
  EXPECT_TRUE(server_->start());
}

Client::Client(UniqueFd socket) : socket_(std::move(socket)) {
  timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Client Client::local(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path;
  return Client(std::move(socket));
}

Client Client::tcp(uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << port;
  return Client(std::move(socket));
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void Client::end_sending() { ::shutdown(fd(), SHUT_WR); }

bool Client::fill() {
  char piece[64 * 1024];
  ssize_t count;
  do count = ::recv(fd(), piece, sizeof piece, 0);
  while (count < 0 && errno == EINTR);
  end_error_ = count < 0 ? errno : 0;
  if (count > 0) buffer_.append(piece, static_cast<size_t>(count));
  return count > 0;
}

std::optional<std::string> Client::read_line() {
  size_t end;
  while ((end = buffer_.find("\r\n")) == std::string::npos)
    if (!fill()) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::string Client::read_exactly(size_t count) {
  while (buffer_.size() < count && fill()) {
  }
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return bytes;
}

std::string Client::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

bool Client::ends() { return buffer_.empty() && !fill() && end_error_ != EAGAIN; }

Reply Client::receive(std::string_view method) {
  Reply reply;
  auto line = read_line();
  if (!line || line->size() < 12) return reply;
  reply.status = std::stoi(line->substr(9, 3));
  while ((line = read_line()) && !line->empty()) {
    size_t colon = line->find(':');
    reply.headers[lower(line->substr(0, colon))] = trim(std::string_view(*line).substr(colon + 1));
  }
  bool bodiless = method == "HEAD" || reply.status / 100 == 1 || reply.status == 204 || reply.status == 304;
  if (bodiless) {
    reply.whole = line.has_value();
  } else if (reply.headers.contains("content-length")) {
    size_t length = std::stoul(reply.headers["content-length"]);
    reply.body = read_exactly(length);
    reply.whole = reply.body.size() == length;
  } else if (reply.headers.contains("transfer-encoding")) {
    while ((line = read_line())) {
      size_t size = std::stoul(*line, nullptr, 16);
      reply.body += read_exactly(size);
      read_line();
      if ((reply.whole = size == 0)) break;
    }
  } else {
    reply.body = read_to_end();
    reply.whole = true;
  }
  return reply;
}

Reply Client::ask(std::string_view bytes) {
  send(bytes);
  return receive(bytes.substr(0, bytes.find(' ')));
}

std::string masked_frame(uint8_t first_byte, std::string_view payload) {
  std::string frame = http1::masked_frame(http1::Opcode::Text, payload, {0x12, 0x34, 0x56, 0x78});
  frame[0] = static_cast<char>(first_byte);
  return frame;
}

}  // namespace cove::http::testing
