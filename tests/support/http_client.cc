#include "support/http_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace cove::test {
namespace {

constexpr int kPatienceSeconds = 120;  // without any progress; then the test fails for want of an answer

std::string small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

UniqueFd connect_to(const Endpoint& endpoint) {
  bool local = !endpoint.path.empty();
  UniqueFd socket(::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval patience = {kPatienceSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_un unix_address = {};
  unix_address.sun_family = AF_UNIX;
  std::strncpy(unix_address.sun_path, endpoint.path.c_str(), sizeof unix_address.sun_path - 1);
  sockaddr_in inet = {};
  inet.sin_family = AF_INET;
  inet.sin_port = htons(endpoint.port);
  inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* address = local ? reinterpret_cast<sockaddr*>(&unix_address) : reinterpret_cast<sockaddr*>(&inet);
  socklen_t size = local ? sizeof unix_address : sizeof inet;
  if (::connect(socket.get(), address, size) < 0) socket.reset();
  return socket;
}

void send_all(int socket, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    data.remove_prefix(static_cast<size_t>(count));
  }
}

std::string head_of(const HttpRequest& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  HeaderMap headers = request.headers;
  headers.emplace("host", "localhost");
  if (!headers.contains("upgrade")) headers.emplace("connection", "close");
  if (!request.body.empty() || request.method != "GET")
    headers.emplace("content-length", std::to_string(request.body.size()));
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return text + "\r\n";
}

}  // namespace

nlohmann::json HttpResponse::json() const { return nlohmann::json::parse(body, nullptr, false); }

HttpStream::HttpStream(const Endpoint& endpoint, const HttpRequest& request) : socket_(connect_to(endpoint)) {
  if (!socket_) return;
  send_all(socket_.get(), head_of(request));
  send_all(socket_.get(), request.body);
  std::string first = line();
  while (first.starts_with("HTTP/1.1 100")) {
    while (!line().empty()) {
    }
    first = line();
  }
  if (first.size() < 12) return;
  status_ = std::stoi(first.substr(9, 3));
  for (std::string header = line(); !header.empty(); header = line()) {
    size_t colon = header.find(':');
    headers_[small(header.substr(0, colon))] = header.substr(header.find_first_not_of(' ', colon + 1));
  }
  chunked_ = headers_.contains("transfer-encoding");
  if (headers_.contains("content-length")) left_ = std::stoull(headers_["content-length"]);
  if (request.method == "HEAD" || status_ == 204) left_ = 0;
}

PendingRequest::PendingRequest(const Endpoint& endpoint, const HttpRequest& request) : socket_(connect_to(endpoint)) {
  if (socket_) send_all(socket_.get(), head_of(request) + request.body);
}

bool HttpStream::fill() {
  char data[65536];
  ssize_t count = socket_ ? ::recv(socket_.get(), data, sizeof data, 0) : 0;
  if (count <= 0) return false;
  buffer_.append(data, static_cast<size_t>(count));
  return true;
}

std::string HttpStream::line() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos)
    if (!fill()) return "";
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return text;
}

std::string HttpStream::take(size_t count) {
  if (buffer_.empty() && count > 0) fill();
  std::string data = buffer_.substr(0, count);
  buffer_.erase(0, data.size());
  return data;
}

std::string HttpStream::read_chunk() {
  if (chunk_left_ == 0) {
    std::string size = line();
    if (size.empty()) return "";
    chunk_left_ = std::stoull(size, nullptr, 16);
    if (chunk_left_ == 0) {
      whole_ = true;
      return "";
    }
  }
  std::string data = take(chunk_left_);
  chunk_left_ -= data.size();
  if (chunk_left_ == 0) line();
  return data;
}

std::string HttpStream::read() {
  if (whole_) return "";
  if (chunked_) return read_chunk();
  std::string data = take(left_.value_or(SIZE_MAX));
  if (left_) {
    *left_ -= data.size();
    whole_ = *left_ == 0;
  }
  return data;
}

std::optional<HttpStream::Event> HttpStream::next_event() {
  while (true) {
    size_t end = events_.find("\n\n");
    if (end == std::string::npos) {
      std::string more = read();
      if (more.empty()) return std::nullopt;
      events_ += more;
      continue;
    }
    std::string text = events_.substr(0, end + 1);
    events_.erase(0, end + 2);
    if (text.starts_with(':')) continue;
    Event event;
    for (size_t from = 0; from < text.size();) {
      std::string field = text.substr(from, text.find('\n', from) - from);
      from += field.size() + 1;
      if (field.starts_with("id: ")) event.id = field.substr(4);
      if (field.starts_with("event: ")) event.name = field.substr(7);
      if (field.starts_with("data: ")) event.data = nlohmann::json::parse(field.substr(6), nullptr, false);
    }
    return event;
  }
}

void HttpStream::send_frame(int opcode, std::string_view data) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (data.size() < 126) {
    frame += static_cast<char>(0x80 | data.size());
  } else {
    frame += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(data.size() >> shift & 0xff);
  }
  frame.append(4, '\0');  // a mask of zeros changes nothing
  frame += data;
  send_all(socket_.get(), frame);
}

HttpStream::Frame HttpStream::next_frame() {
  auto need = [&](size_t count) {
    while (buffer_.size() < count)
      if (!fill()) return false;
    return true;
  };
  if (!need(2)) return {-1, ""};
  int opcode = buffer_[0] & 0x0f;
  size_t size = buffer_[1] & 0x7f;
  size_t bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (!need(2 + bytes)) return {-1, ""};
  if (bytes > 0) size = 0;
  for (size_t i = 0; i < bytes; ++i) size = size << 8 | static_cast<unsigned char>(buffer_[2 + i]);
  if (!need(2 + bytes + size)) return {-1, ""};
  std::string data = buffer_.substr(2 + bytes, size);
  buffer_.erase(0, 2 + bytes + size);
  if (opcode == 9) return send_frame(10, data), next_frame();
  return {opcode, data};
}

HttpResponse fetch(const Endpoint& endpoint, const HttpRequest& request) {
  HttpStream stream(endpoint, request);
  HttpResponse response{stream.status(), stream.headers(), "", false};
  for (std::string piece = stream.read(); !piece.empty(); piece = stream.read()) response.body += piece;
  response.whole = stream.whole();
  return response;
}

void send_and_hang_up(const Endpoint& endpoint, const HttpRequest& request) {
  UniqueFd socket = connect_to(endpoint);
  send_all(socket.get(), head_of(request) + request.body);
}

HttpStream open_websocket(const Endpoint& endpoint, const std::string& target, HeaderMap headers) {
  headers.insert({{"upgrade", "websocket"},
                  {"connection", "Upgrade"},
                  {"sec-websocket-version", "13"},
                  {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}});
  return HttpStream(endpoint, {"GET", target, std::move(headers), ""});
}

}  // namespace cove::test
