#include "gateway/inside.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wire.h"
#include "net/namespace.h"
#include "sys/ids.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::test {
namespace {

Result<NetworkSockets> make_namespace(uid_t outside) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) return fail_errno("unshare");
  COVE_TRY(sys::write_id_maps(::getpid(), {{0, outside, 1}}, {{0, outside, 1}}, sys::Setgroups::Deny));
  return net::set_up_namespace();
}

Result<void> send_sockets(int channel, const NetworkSockets& sockets) {
  wire::Writer message;
  std::vector<int> fds;
  uint64_t present = 0;
  for (size_t i = 0; i < sockets.fds.size(); ++i) {
    if (!sockets.fds[i]) continue;
    present |= uint64_t{1} << i;
    fds.push_back(sockets.fds[i].get());
  }
  message.number(static_cast<uint64_t>(sockets.steering)).number(present);
  return sys::send_message(channel, message.data(), fds);
}

// Opens the sockets that are asked for until the test is over.
Result<void> serve(int channel, uid_t outside) {
  COVE_TRY(send_sockets(channel, COVE_TRY(make_namespace(outside))));
  while (true) {
    sys::Message asked = COVE_TRY(sys::receive_message(channel, wire::kMaxMessage));
    if (asked.data.empty()) return {};
    wire::Reader in(asked.data);
    int family = static_cast<int>(in.number()), type = static_cast<int>(in.number());
    UniqueFd made(::socket(family, type | SOCK_CLOEXEC, 0));
    if (!made) return fail_errno("socket");
    COVE_TRY(sys::send_message(channel, "s", {made.get()}));
  }
}

}  // namespace

Result<std::unique_ptr<Inside>> Inside::create() {
  auto ends = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  uid_t outside = ::geteuid();
  pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    ends.first.reset();
    auto served = serve(ends.second.get(), outside);
    if (!served) (void)sys::send_message(ends.second.get(), served.error().message());
    ::_exit(0);
  }
  std::unique_ptr<Inside> inside(new Inside(std::move(ends.first), child));
  ends.second.reset();
  sys::Message message = COVE_TRY(sys::receive_message(inside->channel_.get(), wire::kMaxMessage));
  if (message.fds.empty()) return fail(Code::Unavailable, message.data);
  wire::Reader in(message.data);
  inside->sockets_.steering = static_cast<Steering>(in.number());
  uint64_t present = in.number();
  size_t next = 0;
  for (size_t i = 0; i < inside->sockets_.fds.size(); ++i)
    if (present >> i & 1) inside->sockets_.fds[i] = std::move(message.fds[next++]);
  return inside;
}

Inside::~Inside() {
  channel_.reset();
  ::waitpid(child_, nullptr, 0);
}

UniqueFd Inside::socket(int family, int type) {
  wire::Writer message;
  message.number(static_cast<uint64_t>(family)).number(static_cast<uint64_t>(type));
  if (!sys::send_message(channel_.get(), message.data())) return UniqueFd();
  auto answer = sys::receive_message(channel_.get(), wire::kMaxMessage);
  return answer && answer->fds.size() == 1 ? std::move(answer->fds[0]) : UniqueFd();
}

}  // namespace cove::test
