#include "runtime/native/network.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "base/error_wire.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

constexpr size_t kLongestAnswer = 16 * 1024;

std::vector<int> numbers_of(const std::vector<UniqueFd>& fds) {
  std::vector<int> numbers;
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

// A process that has not entered its own network namespace yet is still in the host's.
Result<void> check_owner() {
  UniqueFd network = COVE_TRY(sys::open("/proc/self/ns/net", O_RDONLY));
  UniqueFd owner(::ioctl(network.get(), NS_GET_USERNS));
  const struct stat own = COVE_TRY(sys::stat("/proc/self/ns/user"));
  if (owner && COVE_TRY(sys::fstat(owner.get())).st_ino == own.st_ino) return {};
  return fail(Code::Unavailable, "the sandbox has no network namespace of its own yet");
}

[[noreturn]] void send_and_end(int answer, Result<NetworkSockets> sockets) {
  if (sockets) {
    NetworkMessage message = encode(std::move(*sockets));
    static_cast<void>(sys::send_message(answer, message.text.data(), numbers_of(message.fds)));
  } else {
    static_cast<void>(sys::send_message(answer, encode_error(sockets.error())));
  }
  ::_exit(0);
}

using Work = std::function<Result<NetworkSockets>()>;

Result<NetworkSockets> do_in_child(uint64_t namespaces, const Work& work) {
  sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  sys::Child child = COVE_TRY(sys::clone3(namespaces));
  if (child.pid == 0) send_and_end(pair.second.get(), work());
  pair.second.reset();
  Result<sys::Message> answer = sys::receive_message(pair.first.get(), kLongestAnswer);
  static_cast<void>(sys::wait_for(child.pid));
  if (!answer) return std::unexpected(answer.error());
  if (answer->data.empty()) return fail(Code::Internal, "the process that opened the network died");
  if (answer->fds.empty()) return fail(decode_error(answer->data));
  wire::Reader in(answer->data);
  return decode_network(in, std::move(answer->fds));
}

}  // namespace

Result<NetworkSockets> join_and_open_network(const NetworkPlace& place) {
  COVE_TRY_NOTE("join the sandbox's namespaces", sys::setns(place.process_1, CLONE_NEWUSER | CLONE_NEWNET));
  COVE_TRY(check_owner());
  return net::set_up_namespace(place.programs);
}

Result<NetworkSockets> open_network_of(const NetworkPlace& place) {
  return do_in_child(0, [&] { return join_and_open_network(place); });
}

Result<NetworkSockets> probe_network() {
  return do_in_child(CLONE_NEWUSER | CLONE_NEWNET, [] { return net::set_up_namespace(); });
}

NetworkMessage encode(NetworkSockets sockets) {
  NetworkMessage message;
  uint64_t present = 0;
  for (size_t i = 0; i < sockets.fds.size(); ++i) {
    if (!sockets.fds[i]) continue;
    present |= uint64_t{1} << i;
    message.fds.push_back(std::move(sockets.fds[i]));
  }
  message.text.number(static_cast<uint64_t>(sockets.steering)).number(present);
  return message;
}

Result<NetworkSockets> decode_network(wire::Reader& in, std::vector<UniqueFd> fds) {
  NetworkSockets sockets;
  const uint64_t steering = in.number();
  const uint64_t present = in.number();
  const bool known = steering <= static_cast<uint64_t>(Steering::Redirect) && present >> sockets.fds.size() == 0;
  if (!in.done() || !known || static_cast<size_t>(__builtin_popcountll(present)) != fds.size())
    return fail(Code::Internal, "the sockets of a network are malformed");
  sockets.steering = static_cast<Steering>(steering);
  size_t next = 0;
  for (size_t i = 0; i < sockets.fds.size(); ++i)
    if (present >> i & 1) sockets.fds[i] = std::move(fds[next++]);
  return sockets;
}

}  // namespace cove::native
