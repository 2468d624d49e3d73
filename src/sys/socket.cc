#include "sys/socket.h"

#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/text.h"

namespace cove::sys {
namespace {

void collect_fds(msghdr& header, std::vector<UniqueFd>& fds) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

struct Address {
  sockaddr_un value = {};
  socklen_t size = 0;
};

Result<Address> unix_address(std::string_view name) {
  Address address;
  if (name.size() >= sizeof address.value.sun_path)
    return fail(Code::Invalid, concat("the socket's name ", name, " is too long"));
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return address;
}

Result<UniqueFd> make_socket(int flags) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!socket) return fail_errno("socket");
  return socket;
}

}  // namespace

Result<UniqueFd> listen_unix(std::string_view name, int backlog, int flags) {
  Address address = COVE_TRY(unix_address(name));
  UniqueFd socket = COVE_TRY(make_socket(flags));
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address.value), address.size) < 0)
    return fail_errno(concat("bind ", name));
  if (::listen(socket.get(), backlog) < 0) return fail_errno(concat("listen ", name));
  return socket;
}

Result<UniqueFd> connect_unix(std::string_view name, int patience) {
  Address address = COVE_TRY(unix_address(name));
  UniqueFd socket = COVE_TRY(make_socket(0));
  const timeval until = {patience, 0}, never = {};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &until, sizeof until) < 0) return fail_errno("setsockopt");
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address.value), address.size) < 0)
    return fail_errno(concat("connect to ", name));
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &never, sizeof never) < 0) return fail_errno("setsockopt");
  return socket;
}

Result<SocketPair> socketpair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("socketpair");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<void> send_message(int socket, std::string_view data, const std::vector<int>& fds, int flags) {
  if (fds.size() > kMaxFds) return fail(Code::Internal, "send: too many descriptors");
  iovec vector{const_cast<char*>(data.data()), data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno("sendmsg");
  if (static_cast<size_t>(sent) != data.size()) return fail(Code::Internal, "sendmsg: incomplete");
  return {};
}

Result<Message> receive_message(int socket, size_t most, int flags) {
  Message message;
  // Reads the length first, so that no more memory is used than needed.
  ssize_t length;
  do {
    length = ::recv(socket, nullptr, 0, flags | MSG_PEEK | MSG_TRUNC);
  } while (length < 0 && errno == EINTR);
  if (length < 0) return fail_errno("recvmsg");
  message.data.resize(std::min(static_cast<size_t>(length), most));
  iovec vector{message.data.data(), message.data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return fail_errno("recvmsg");
  collect_fds(header, message.fds);
  if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) return fail(Code::Invalid, "recvmsg: message too long");
  message.data.resize(static_cast<size_t>(size));
  return message;
}

}  // namespace cove::sys
