#include "runtime/native/network.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "base/error_wire.h"
#include "net/namespace.h"
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

[[noreturn]] void open_and_send(int process_1, int answer) {
  Result<NetworkSockets> sockets = join_and_open_network(process_1);
  if (sockets) {
    NetworkMessage message = encode(std::move(*sockets));
    static_cast<void>(sys::send_message(answer, message.text.data(), numbers_of(message.fds)));
  } else {
    static_cast<void>(sys::send_message(answer, encode_error(sockets.error())));
  }
  ::_exit(0);
}

}  // namespace

Result<NetworkSockets> join_and_open_network(int process_1) {
  COVE_TRY_NOTE("join the sandbox's namespaces", sys::setns(process_1, CLONE_NEWUSER | CLONE_NEWNET));
  COVE_TRY(check_owner());
  return net::set_up_namespace();
}

Result<NetworkSockets> open_network_of(int process_1) {
  sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) open_and_send(process_1, pair.second.get());
  pair.second.reset();
  Result<sys::Message> answer = sys::receive_message(pair.first.get(), kLongestAnswer);
  static_cast<void>(sys::wait_for(child.pid));
  if (!answer) return std::unexpected(answer.error());
  if (answer->data.empty()) return fail(Code::Internal, "the process that opened the network died");
  if (answer->fds.empty()) return fail(decode_error(answer->data));
  wire::Reader in(answer->data);
  return decode_network(in, std::move(answer->fds));
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
