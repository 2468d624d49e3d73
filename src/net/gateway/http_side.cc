#include "net/gateway/http_side.h"

#include <algorithm>
#include <array>

namespace cove::net {
namespace {

constexpr size_t kPortion = 32 * 1024;
constexpr size_t kKept = 4 * 1024;  // of an empty buffer

// Drops what was dealt with; an idle connection holds no memory.
void drop_front(std::string& buffer, size_t& front) {
  if (front < buffer.size() && front < kPortion) return;
  buffer.erase(0, front);
  front = 0;
  if (buffer.empty() && buffer.capacity() > kKept) std::string().swap(buffer);
}

}  // namespace

HttpSide::HttpSide(Loop& loop, std::unique_ptr<ByteStream> stream, std::function<void()> ready)
    : loop_(loop), stream_(std::move(stream)), ready_(std::move(ready)) {}

HttpSide::~HttpSide() { unwatch(); }

void HttpSide::unwatch() {
  if (watched_ != 0) loop_.remove(stream_->socket().fd());
  watched_ = 0;
}

void HttpSide::use(size_t count) {
  used_ += count;
  drop_front(in_, used_);
}

bool HttpSide::read() {
  if (!open() || input().size() >= kRoom) return false;
  static std::array<char, kPortion> portion;  // the gateway has one thread
  const ByteStream::Attempt attempt = stream_->read(portion);
  ended_ = attempt.status == ByteStream::Status::Ended;
  broken_ = attempt.status == ByteStream::Status::Broken;
  in_.append(portion.data(), attempt.bytes);
  return attempt.status != ByteStream::Status::Blocked;
}

bool HttpSide::write() {
  if (broken_ || deaf_ || is_flushed()) return false;
  const ByteStream::Attempt attempt = stream_->write(std::string_view(out_).substr(sent_));
  // What came before it broke can still be read: the answer of a server that does not want the rest of a request.
  if (attempt.status == ByteStream::Status::Broken) {
    deaf_ = true;
    sent_ = out_.size();
  }
  sent_ += attempt.bytes;
  drop_front(out_, sent_);
  return attempt.status != ByteStream::Status::Blocked;
}

bool HttpSide::move() {
  bool moved = write();
  moved = read() || moved;
  if (wants_shut_ && !shut_ && is_flushed() && !broken_) {
    shut_ = deaf_ || stream_->shut().status != ByteStream::Status::Blocked;
    moved = moved || shut_;
  }
  return moved;
}

uint32_t HttpSide::interest() const {
  if (broken_) return 0;
  uint32_t events = 0;
  if (!ended_ && input().size() < kRoom) events |= stream_->read_waits_for();
  if (!is_flushed() || (wants_shut_ && !shut_)) events |= stream_->write_waits_for();
  return events;
}

// Where nothing is waited for, the descriptor is not watched at all: a hang-up would be told over and over.
void HttpSide::watch() {
  const uint32_t events = interest();
  const int fd = stream_->socket().fd();
  if (events == watched_) return;
  if (events == 0)
    loop_.remove(fd);
  else if (watched_ != 0)
    loop_.change(fd, events);
  else if (!loop_.add(fd, events, [this](uint32_t) { ready_(); }))
    broken_ = true;
  watched_ = broken_ ? 0 : events;
}

}  // namespace cove::net
