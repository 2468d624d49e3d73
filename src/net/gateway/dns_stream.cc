#include "net/gateway/dns_stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "net/gateway/dns_message.h"

namespace cove::net {
namespace {

constexpr size_t kMostWaiting = 32;
constexpr size_t kMostOut = 128 * 1024;
constexpr size_t kPrefix = 2;

// The first whole message; nothing where it is not there yet.
std::optional<std::string> take_message(std::string& in) {
  if (in.size() < kPrefix) return std::nullopt;
  size_t size = static_cast<size_t>(static_cast<uint8_t>(in[0])) << 8 | static_cast<uint8_t>(in[1]);
  if (in.size() < kPrefix + size) return std::nullopt;
  std::string message = in.substr(kPrefix, size);
  in.erase(0, kPrefix + size);
  return message;
}

}  // namespace

DnsStreams::~DnsStreams() {
  *self_ = nullptr;
  for (auto& [number, stream] : streams_) {
    loop_.cancel(stream.timer);
    loop_.remove(stream.fd.get());
  }
}

void DnsStreams::add(UniqueFd client) {
  if (streams_.size() >= kMost) return;
  uint64_t number = ++last_;
  int fd = client.get();
  if (!loop_.add(fd, EPOLLIN, [this, number](uint32_t events) { serve(number, events); })) return;
  Stream& stream = streams_[number];
  stream.fd = std::move(client);
  rearm(number, stream);
}

void DnsStreams::serve(uint64_t number, uint32_t events) {
  auto found = streams_.find(number);
  if (found == streams_.end()) return;
  if (events & (EPOLLERR | EPOLLHUP) || !write(found->second) || !read(found->second)) return remove(number);
  ask_all(number);
}

// False where the connection is broken.
bool DnsStreams::read(Stream& stream) {
  char buffer[16 * 1024];
  if (stream.ended || stream.in.size() > dns::kMostOverTcp + kPrefix) return true;
  ssize_t size = ::recv(stream.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (size > 0) stream.in.append(buffer, static_cast<size_t>(size));
  if (size == 0) stream.ended = true;
  return size >= 0 || errno == EAGAIN || errno == EINTR;
}

// Asks as many questions as may wait at a time, then watches what is to be done next.
void DnsStreams::ask_all(uint64_t number) {
  for (;;) {
    auto found = streams_.find(number);
    if (found == streams_.end()) return;
    Stream& stream = found->second;
    bool has_room = stream.waiting < kMostWaiting && stream.out.size() < kMostOut;
    auto message = has_room ? take_message(stream.in) : std::nullopt;
    if (!message) return rearm(number, stream);
    if (message->size() < dns::kHeaderSize) return remove(number);
    ++stream.waiting;
    server_.ask(*message, DnsServer::Transport::Tcp, [self = self_, number](const std::string& reply) {
      if (*self) (*self)->answer(number, reply);
    });
  }
}

void DnsStreams::answer(uint64_t number, std::string_view message) {
  auto found = streams_.find(number);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  bool was_full = stream.waiting-- == kMostWaiting;
  if (message.size() > dns::kMostOverTcp) return remove(number);
  stream.out += static_cast<char>(message.size() >> 8);
  stream.out += static_cast<char>(message.size());
  stream.out += message;
  if (!write(stream)) return remove(number);
  rearm(number, stream);
  if (was_full) ask_later(number);
}

// Questions that came already are not announced again by the socket.
void DnsStreams::ask_later(uint64_t number) {
  loop_.later([self = self_, number] {
    if (*self) (*self)->ask_all(number);
  });
}

bool DnsStreams::write(Stream& stream) {
  if (stream.out.empty()) return true;
  ssize_t size = ::send(stream.fd.get(), stream.out.data(), stream.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) stream.out.erase(0, static_cast<size_t>(size));
  return size >= 0 || errno == EAGAIN || errno == EINTR;
}

void DnsStreams::rearm(uint64_t number, Stream& stream) {
  bool is_over = stream.ended && stream.waiting == 0 && stream.out.empty();
  bool has_room = stream.waiting < kMostWaiting && stream.out.size() < kMostOut;
  loop_.cancel(stream.timer);
  stream.timer = loop_.after(is_over ? std::chrono::milliseconds(0) : kIdle, [this, number] { remove(number); });
  loop_.change(stream.fd.get(), (stream.ended || !has_room ? 0u : EPOLLIN) | (stream.out.empty() ? 0u : EPOLLOUT));
}

void DnsStreams::remove(uint64_t number) {
  auto found = streams_.find(number);
  if (found == streams_.end()) return;
  loop_.cancel(found->second.timer);
  loop_.remove(found->second.fd.get());
  streams_.erase(found);
}

}  // namespace cove::net
