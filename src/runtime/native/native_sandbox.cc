#include "runtime/native/native_sandbox.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/id.h"
#include "base/text.h"
#include "runtime/native/socket_view.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

Error gone() { return Error(Code::Unavailable, "the sandbox's process 1 is gone"); }

// A process 1 that answers no more must not keep the others who use the sandbox waiting.
constexpr std::chrono::milliseconds kDialPatience(3000);

// What came may be anything: it is from inside.
Result<void> check_tcp_socket(int fd) {
  int domain = 0, protocol = 0;
  socklen_t size = sizeof domain;
  const bool known = ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                     ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0;
  if (known && (domain == AF_INET || domain == AF_INET6) && protocol == IPPROTO_TCP) return {};
  return fail(Code::Internal, "process 1 sent something other than a TCP socket");
}

}  // namespace

Result<std::unique_ptr<NativeSandbox>> NativeSandbox::create(Parts parts) {
  std::unique_ptr<NativeSandbox> sandbox(new NativeSandbox(std::move(parts)));
  COVE_TRY(sandbox->watch_channel());
  return sandbox;
}

NativeSandbox::~NativeSandbox() {
  if (!ended_ && parts_.spec.lifetime == Lifetime::OneRun) static_cast<void>(destroy(Files::Remove));
}

Result<void> NativeSandbox::watch_channel() {
  poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll_) return fail_errno("epoll_create1");
  // The builder's message is read when the channel closes, because that also happens if the build fails.
  epoll_event event = {};
  event.events = EPOLLIN;
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, parts_.control.get(), &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

Result<void> NativeSandbox::send(const Writer& message, const std::vector<int>& fds) {
  return sys::send_message(parts_.control.get(), message.data(), fds);
}

// Waits for the reply to a request and queues the events that arrive before it. A Failed for `key` is a reply, too.
Result<NativeSandbox::Reply> NativeSandbox::wait_for_reply(Type type, const std::string& key,
                                                           std::chrono::milliseconds patience) {
  while (true) {
    pollfd polled = {parts_.control.get(), POLLIN, 0};
    int ready = ::poll(&polled, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready == 0) return fail(Code::Unavailable, "the sandbox's process 1 does not answer");
    std::optional<Reply> reply = COVE_TRY(read_reply());
    if (!reply) continue;
    Reader in(reply->body);
    bool matches =
        type == Type::Dialed || type == Type::Table || type == Type::Identity ? reply->type == type : in.text() == key;
    if (matches && reply->type == type) return std::move(*reply);
    bool failed = matches && reply->type == Type::Failed;
    Type got = reply->type;
    std::optional<Event> event = COVE_TRY(event_of(std::move(*reply)));
    if (event) pending_.push_back(std::move(*event));
    if (failed) return Reply{got, {}, {}};
  }
}

Result<std::optional<NativeSandbox::Reply>> NativeSandbox::read_reply() {
  Result<sys::Message> message = sys::receive_message(parts_.control.get(), wire::kMaxMessage, MSG_DONTWAIT);
  if (!message && message.error().errnum() == EAGAIN) return std::optional<Reply>();
  if (!message || message->data.empty()) {
    std::optional<Event> end = COVE_TRY(sandbox_ended());
    if (end && std::get<SandboxEnded>(*end).error) return fail(*std::get<SandboxEnded>(*end).error);
    return fail(gone());
  }
  Reader in(message->data);
  Type type = in.type<Type>();
  return Reply{type, std::string(in.rest()), std::move(message->fds)};
}

Result<std::optional<Event>> NativeSandbox::next_event() {
  if (!pending_.empty()) {
    Event event = std::move(pending_.front());
    pending_.pop_front();
    return event;
  }
  if (ended_) return std::optional<Event>();
  Result<sys::Message> message = sys::receive_message(parts_.control.get(), wire::kMaxMessage, MSG_DONTWAIT);
  if (!message && message.error().errnum() == EAGAIN) return std::optional<Event>();
  if (!message || message->data.empty()) return sandbox_ended();
  Reader in(message->data);
  Type type = in.type<Type>();
  return event_of(Reply{type, std::string(in.rest()), std::move(message->fds)});
}

// The channel has closed.
Result<std::optional<Event>> NativeSandbox::sandbox_ended() {
  ended_ = true;
  return Event(parts_.resources->how_it_ended());
}

Result<std::optional<Event>> NativeSandbox::event_of(Reply reply) {
  Reader in(reply.body);
  switch (reply.type) {
    case Type::Exited:
      return exec_ended(in, reply.fds);
    case Type::Failed:
      return exec_failed(in);
    case Type::Waiting:
      return std::optional(Event(ExecWaiting{in.text()}));
    default:
      return std::optional<Event>();
  }
}

Result<std::unique_ptr<View>> NativeSandbox::open_view(const std::string& user) {
  sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  COVE_TRY(send(Writer(Type::View).text(user.empty() ? parts_.spec.user : user), {pair.second.get()}));
  return std::make_unique<SocketView>(std::move(pair.first));
}

Result<UniqueFd> NativeSandbox::dial(uint16_t port, Loopback loopback) {
  const std::string attempt = concat("connect to port ", port, " of the sandbox");
  uint64_t token = next_token_++;
  Writer request(Type::Dial);
  request.number(token).number(port);
  if (loopback == Loopback::Six) request.number(6);
  COVE_TRY(send(request));
  for (uint64_t answered = 0; answered != token;) {
    Reply reply = COVE_TRY_NOTE(attempt, wait_for_reply(Type::Dialed, {}, kDialPatience));
    Reader in(reply.body);
    answered = in.number();
    auto errnum = static_cast<int>(in.number());
    if (in.done() && answered < token) continue;  // of one that was not waited for any more
    if (!in.done() || answered != token) return fail(Code::Internal, "process 1 sent a malformed reply");
    if (errnum != 0) return fail(Error::from_errno(errnum, attempt));
    if (reply.fds.size() != 1) return fail(Code::Internal, "process 1 sent a malformed reply");
    COVE_TRY(check_tcp_socket(reply.fds[0].get()));
    return std::move(reply.fds[0]);
  }
  return fail(Code::Internal, "process 1 sent a malformed reply");
}

Result<UniqueFd> NativeSandbox::ask_ports() {
  sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  COVE_TRY(send(Writer(Type::Ports), {pair.second.get()}));
  return std::move(pair.first);
}

// A built sandbox's process 1 may not have entered its namespaces yet. It answers when it has.
Result<NetworkSockets> NativeSandbox::open_network() {
  COVE_TRY(parts_.resources->ready());
  COVE_TRY(send(Writer(Type::IdentityRequest)));
  COVE_TRY(wait_for_reply(Type::Identity, {}));
  return parts_.resources->open_network();
}

Result<void> NativeSandbox::take_over() {
  left_behind_ = true;  // possibly by an exec of which nothing is known
  COVE_TRY(send(Writer(Type::Hello)));
  for (bool last = false; !last;) {
    const std::string table = COVE_TRY(wait_for_reply(Type::Table, {})).body;
    Reader in(table);
    last = in.number() != 0;
    uint64_t count = in.number();
    for (uint64_t i = 0; i < count && in.ok(); ++i) take_over_exec(in);
    if (!in.done()) return fail(Code::Internal, "process 1 sent a malformed reply");
  }
  return {};
}

// The results of those that have ended arrive as events.
void NativeSandbox::take_over_exec(Reader& in) {
  RunningExec exec;
  exec.spec.id = in.text();
  exec.group_name = in.text();
  if (in.number() & wire::kExecPty) exec.spec.pty = WindowSize();
  if (!in.ok()) return;
  if (!exec.group_name.empty()) {
    Result<std::unique_ptr<sys::Cgroup>> group = parts_.resources->adopt_exec_group(exec.group_name);
    if (group) exec.group = std::move(*group);
  }
  adopted_.push_back(exec.spec.id);
  execs_.emplace(exec.spec.id, std::move(exec));
}

Result<void> NativeSandbox::destroy(Files files) {
  const bool unmissed = quiet() && files == Files::Remove;
  ended_ = true;
  if (parts_.spec.lifetime == Lifetime::OneRun) parts_.resources->kill();
  parts_.control.reset();
  return unmissed ? parts_.resources->let_go(files) : parts_.resources->destroy(files);
}

}  // namespace cove::native
