#include "runtime/inside.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "sys/socket.h"

namespace cove {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostText = 1024;
constexpr uint64_t kHighestPort = 65535;

bool await(int fd, short events, Clock::time_point deadline) {
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled = {fd, events, 0};
    int ready = ::poll(&polled, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool is_sound(const wire::ListeningSocket& socket) {
  return (socket.address.size() == 4 || socket.address.size() == 16) && socket.port > 0 &&
         socket.port <= kHighestPort && socket.name.size() <= kMostText && socket.command.size() <= kMostText;
}

}  // namespace

Result<void> finish_dial(int socket, std::chrono::milliseconds patience) {
  if (!await(socket, POLLOUT, Clock::now() + patience)) return fail(Error::from_errno(ETIMEDOUT, "connect"));
  int errnum = 0;
  socklen_t size = sizeof errnum;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0) return fail_errno("getsockopt");
  if (errnum != 0) return fail(Error::from_errno(errnum, "connect"));
  return {};
}

Result<std::vector<wire::ListeningSocket>> read_ports(int socket, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  std::vector<wire::ListeningSocket> ports;
  while (true) {
    if (!await(socket, POLLIN, deadline))
      return fail(Code::Unavailable, "the sandbox does not tell which ports are listened at");
    sys::Message message = COVE_TRY(sys::receive_message(socket, wire::kMaxMessage, MSG_DONTWAIT));
    if (message.data.empty()) return fail(Code::Unavailable, "the sandbox did not tell which ports are listened at");
    wire::Reader in(message.data);
    const auto type = in.type<wire::Type>();
    if (type == wire::Type::Done) {
      auto errnum = static_cast<int>(in.number());
      if (errnum != 0) return fail(Error::from_errno(errnum, "list the listening ports of the sandbox"));
      return ports;
    }
    wire::ListeningSocket one = wire::ListeningSocket::decode(in);
    if (type != wire::Type::Port || !in.done() || !is_sound(one) || ports.size() >= wire::kMaxPorts)
      return fail(Code::Internal, "the sandbox sent a malformed list of ports");
    ports.push_back(std::move(one));
  }
}

}  // namespace cove
