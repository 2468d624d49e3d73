#include "cli/relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace cove::cli {
namespace {

constexpr size_t kPortion = 64 * 1024;

class Direction {
 public:
  Direction(int from, int to, std::string data) : from_(from), to_(to), data_(std::move(data)) {}

  bool over() const { return ended_ && data_.empty(); }
  // Whichever of the two it waits for.
  pollfd polled() const {
    if (!data_.empty()) return {to_, POLLOUT, 0};
    return {ended_ ? -1 : from_, POLLIN, 0};
  }
  // False where one of them is gone.
  bool move() { return data_.empty() ? ended_ || read() : write(); }

 private:
  static bool waits() { return errno == EAGAIN || errno == EINTR; }

  bool read() {
    data_.resize(kPortion);
    ssize_t count = ::recv(from_, data_.data(), data_.size(), MSG_DONTWAIT);
    data_.resize(count > 0 ? static_cast<size_t>(count) : 0);
    if (count < 0) return waits();
    ended_ = count == 0;
    if (ended_) ::shutdown(to_, SHUT_WR);
    return ended_ || write();
  }

  bool write() {
    ssize_t count = ::send(to_, data_.data(), data_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return waits();
    data_.erase(0, static_cast<size_t>(count));
    return true;
  }

  int from_;
  int to_;
  std::string data_;  // read and not written yet
  bool ended_ = false;
};

}  // namespace

void relay(int near, int far, std::string early) {
  Direction in(near, far, {}), out(far, near, std::move(early));
  while (!in.over() || !out.over()) {
    pollfd polled[2] = {in.polled(), out.polled()};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if ((polled[0].revents && !in.move()) || (polled[1].revents && !out.move())) return;
  }
}

}  // namespace cove::cli
