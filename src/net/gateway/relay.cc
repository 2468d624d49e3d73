#include "net/gateway/relay.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace cove::net {
namespace {

// After that many bytes others have their turn.
constexpr uint64_t kPerTurn = 4 * PipePool::kLarge;

void set_linger(int socket, linger value) { ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, sizeof value); }

bool would_block(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

}  // namespace

void reset_on_close(int socket) { set_linger(socket, {.l_onoff = 1, .l_linger = 0}); }
void end_in_order(int socket) { set_linger(socket, {.l_onoff = 0, .l_linger = 0}); }

Relay::Relay(Loop& loop, PipePool& pipes, Owner& owner, UniqueFd inside, UniqueFd outside)
    : loop_(loop), pipes_(pipes), owner_(owner), inside_(std::move(inside)), outside_(std::move(outside)) {
  inbound_.from = outbound_.to = outside_.get();
  inbound_.to = outbound_.from = inside_.get();
  outbound_.open = false;
  self_ = std::make_shared<Relay*>(this);
}

Relay::~Relay() {
  *self_ = nullptr;
  for (Way* way : {&inbound_, &outbound_})
    if (way->pipe) pipes_.lose(std::move(*way->pipe));
}

void Relay::on_inside(uint32_t events) { on_events(events, outbound_, inbound_); }
void Relay::on_outside(uint32_t events) { on_events(events, inbound_, outbound_); }

// Of a socket that `source` reads from and `sink` writes to.
void Relay::on_events(uint32_t events, Way& source, Way& sink) {
  if (events & ~uint32_t{EPOLLOUT}) pump(source);
  if (events & ~uint32_t{EPOLLIN | EPOLLRDHUP}) pump(sink);
  // A way that is read from meets the error itself, behind the last bytes.
  if ((events & EPOLLERR) && (source.shut || !source.open)) end(End::Reset);
}

void Relay::forward(std::string first_bytes, Outbound outbound) {
  outbound_.first += first_bytes;
  outbound_.open = outbound == Outbound::Open;
  pump(outbound_);
}

void Relay::pump(Way& way) {
  if (over_ || way.shut || (!way.open && way.first.empty())) return;
  uint64_t moved = 0;
  bool more = true;
  while (more && moved < kPerTurn) more = pump_turn(way, moved);
  if (moved > 0) count(way, moved);
  if (over_) return;
  settle(way);
  if (more && !over_) pump_later(way);
}

// Moves once from the source to the pipe and from there to the sink; whether there may be more to move.
bool Relay::pump_turn(Way& way, uint64_t& moved) {
  Step first = write_first(way);
  if (first == Step::Failed) return end(End::Reset), false;
  if (!way.first.empty() || !way.open) return false;
  Step filled = fill(way);
  if (filled == Step::Failed) return end(End::Reset), false;
  uint64_t before = way.moved;
  Step drained = drain(way);
  if (drained == Step::Failed) return end(End::Reset), false;
  moved += way.moved - before;
  return filled == Step::Moved ? drained == Step::Moved : drained == Step::Moved && !way.ended;
}

Relay::Step Relay::write_first(Way& way) {
  if (way.first.empty()) return Step::Nothing;
  ssize_t sent = ::send(way.to, way.first.data(), way.first.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (would_block(sent)) return Step::Nothing;
  if (sent < 0) return Step::Failed;
  way.first.erase(0, static_cast<size_t>(sent));
  if (way.first.empty()) way.first.shrink_to_fit();
  count(way, static_cast<uint64_t>(sent));
  return over_ ? Step::Failed : Step::Moved;
}

Relay::Step Relay::fill(Way& way) {
  if (way.ended) return Step::Nothing;
  if (!way.pipe && !(way.pipe = pipes_.take())) return Step::Failed;
  if (way.held >= way.pipe->room) return Step::Nothing;
  ssize_t got = ::splice(way.from, nullptr, way.pipe->in.get(), nullptr, way.pipe->room - way.held,
                         SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (would_block(got)) return Step::Nothing;  // nothing there, or the pipe is full
  if (got < 0) return Step::Failed;
  if (got == 0) way.ended = true;
  way.held += static_cast<size_t>(got);
  return got > 0 ? Step::Moved : Step::Nothing;
}

Relay::Step Relay::drain(Way& way) {
  if (way.held == 0) return Step::Nothing;
  ssize_t sent = ::splice(way.pipe->out.get(), nullptr, way.to, nullptr, way.held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (would_block(sent)) return Step::Nothing;
  if (sent <= 0) return Step::Failed;
  way.held -= static_cast<size_t>(sent);
  way.moved += static_cast<uint64_t>(sent);
  return Step::Moved;
}

// An empty pipe is given back, an end of the stream is passed on.
void Relay::settle(Way& way) {
  if (way.held > 0 || !way.first.empty()) return;
  if (way.pipe) pipes_.give_back(std::move(*way.pipe));
  way.pipe.reset();
  if (!way.ended) return;
  ::shutdown(way.to, SHUT_WR);
  way.shut = true;
  if (inbound_.shut && outbound_.shut) end(End::Orderly);
}

void Relay::count(const Way& way, uint64_t moved) {
  if (&way == &inbound_)
    owner_.moved(moved, 0);
  else
    owner_.moved(0, moved);
}

void Relay::pump_later(Way& way) {
  loop_.later([self = self_, &way] {
    if (*self) (*self)->pump(way);
  });
}

void Relay::end(End how) {
  if (over_) return;
  over_ = true;
  if (how == End::Orderly) {
    end_in_order(inside_.get());
    end_in_order(outside_.get());
  }
  owner_.ended(how);
}

}  // namespace cove::net
