#include "net/netlink.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace cove::net {
namespace {

constexpr size_t kLargestAnswer = 64 * 1024;

void take_answers(std::span<const uint8_t> data, std::vector<int>& errors) {
  while (data.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, data.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > data.size()) return;
    int32_t error = 0;
    if (header.nlmsg_type == NLMSG_ERROR && header.nlmsg_len >= sizeof header + sizeof error) {
      std::memcpy(&error, data.data() + sizeof header, sizeof error);
      errors.push_back(-error);
    }
    data = data.subspan(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), data.size()));
  }
}

}  // namespace

void Attributes::append(const void* data, size_t size) {
  const auto* first = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
}

void Attributes::add(uint16_t type, const void* data, size_t size) {
  const nlattr header = {static_cast<uint16_t>(sizeof header + size), type};
  append(&header, sizeof header);
  append(data, size);
}

void NetlinkBatch::append(const void* data, size_t size) {
  const auto* first = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  current()->nlmsg_len = static_cast<uint32_t>(bytes_.size() - begin_);
}

void NetlinkBatch::begin(uint16_t type, uint16_t flags, const void* header, size_t size) {
  begin_ = bytes_.size();
  bytes_.resize(begin_ + NLMSG_HDRLEN);
  current()->nlmsg_type = type;
  current()->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  current()->nlmsg_seq = ++requests_;
  append(header, size);
}

void NetlinkBatch::attribute(uint16_t type, const void* data, size_t size) {
  nlattr header = {static_cast<uint16_t>(sizeof header + size), type};
  append(&header, sizeof header);
  append(data, size);
}

Result<void> ask(const NetlinkBatch& batch, const char* attempt, Existing existing) {
  std::vector<int> errors = COVE_TRY(talk(NETLINK_ROUTE, batch.bytes()));
  if (errors.size() != batch.requests()) return fail(Code::Internal, "the kernel did not answer every request");
  for (int error : errors)
    if (error != 0 && (error != EEXIST || existing == Existing::Refused))
      return fail(Error::from_errno(error, attempt));
  return {};
}

Result<std::vector<int>> talk(int protocol, std::span<const uint8_t> messages) {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return fail_errno("open a netlink socket");
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), messages.data(), messages.size(), 0, reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) <
      0)
    return fail_errno("send to the kernel over netlink");
  // The kernel has answered when the call returns.
  std::vector<int> errors;
  std::vector<uint8_t> answer(kLargestAnswer);
  while (true) {
    ssize_t size = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return errors;
    if (size < 0) return fail_errno("receive from the kernel over netlink");
    take_answers(std::span(answer).first(static_cast<size_t>(size)), errors);
  }
}

}  // namespace cove::net
