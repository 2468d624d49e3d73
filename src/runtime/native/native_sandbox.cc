#include "runtime/native/native_sandbox.h"

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
#include "runtime/native/exec_failure.h"
#include "runtime/native/socket_view.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

Error gone() { return Error(Code::Unavailable, "the sandbox's process 1 is gone"); }

// Process 1 only begins to connect; how it goes is seen here.
Result<void> wait_for_connection(int socket) {
  constexpr int kPatience = 5000;
  pollfd polled = {socket, POLLOUT, 0};
  if (::poll(&polled, 1, kPatience) <= 0) return fail(Error::from_errno(ETIMEDOUT, "connect"));
  int errnum = 0;
  socklen_t size = sizeof errnum;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0) return fail_errno("getsockopt");
  if (errnum != 0) return fail(Error::from_errno(errnum, "connect"));
  return {};
}

}  // namespace

Result<std::unique_ptr<NativeSandbox>> NativeSandbox::create(Parts parts) {
  std::unique_ptr<NativeSandbox> sandbox(new NativeSandbox(std::move(parts)));
  COVE_TRY(sandbox->watch_channel());
  return sandbox;
}

NativeSandbox::~NativeSandbox() {
  if (!ended_ && parts_.spec.lifetime == Lifetime::OneRun) static_cast<void>(destroy());
}

Result<void> NativeSandbox::watch_channel() {
  poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll_) return fail_errno("epoll_create1");
  // The builder's word is asked for when the channel closes: it closes when the walls do not come up, too.
  epoll_event event = {};
  event.events = EPOLLIN;
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, parts_.control.get(), &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

Result<void> NativeSandbox::ready() {
  if (built_ || !parts_.builder) return {};
  BuilderWord word = COVE_TRY(read_word(*parts_.builder));
  if (word != BuilderWord::Built) return fail(Code::Internal, "the builder of the sandbox died");
  built_ = true;
  return {};
}

Result<void> NativeSandbox::send(const Writer& message, const std::vector<int>& fds) {
  return sys::send_message(parts_.control.get(), message.data(), fds);
}

// Waits for an answer to a request, putting aside the events that come before it. A Failed for `key` is an answer too.
Result<NativeSandbox::Reply> NativeSandbox::wait_for_reply(Type type, const std::string& key) {
  while (true) {
    pollfd polled = {parts_.control.get(), POLLIN, 0};
    if (::poll(&polled, 1, -1) < 0 && errno != EINTR) return fail_errno("poll");
    std::optional<Reply> reply = COVE_TRY(read_reply());
    if (!reply) continue;
    Reader in(reply->body);
    bool matches = type == Type::Dialed || type == Type::Table ? reply->type == type : in.text() == key;
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
  Type type = in.type();
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
  Type type = in.type();
  return event_of(Reply{type, std::string(in.rest()), std::move(message->fds)});
}

// The channel has closed: the builder knows why, if anyone does.
Result<std::optional<Event>> NativeSandbox::sandbox_ended() {
  ended_ = true;
  SandboxEnded end;
  for (bool more = parts_.builder.has_value(); more;) {
    Result<BuilderWord> word = read_word(*parts_.builder);
    if (!word)
      end.error = word.error();
    else if (*word == BuilderWord::OutOfMemory)
      end.out_of_memory = true;
    more = word && *word != BuilderWord::Gone && *word != BuilderWord::Ended;
  }
  return Event(std::move(end));
}

Result<std::optional<Event>> NativeSandbox::event_of(Reply reply) {
  Reader in(reply.body);
  switch (reply.type) {
    case Type::Exited:
      return exec_ended(in);
    case Type::Failed:
      return exec_failed(in);
    default:
      return std::optional<Event>();
  }
}

Result<void> NativeSandbox::pause() {
  if (!parts_.group) return fail(Code::Unsupported, "pausing needs control groups");
  return parts_.group->freeze();
}

Result<void> NativeSandbox::resume() {
  if (!parts_.group) return fail(Code::Unsupported, "resuming needs control groups");
  return parts_.group->thaw();
}

Result<void> NativeSandbox::update_limits(const Limits& limits) {
  if (!parts_.group) return fail(Code::Unsupported, "changing limits needs control groups");
  if (limits.cpus.named) COVE_TRY(parts_.group->set_cpus(limits.cpus.value));
  if (limits.memory.named) COVE_TRY(parts_.group->set_memory(limits.memory.value));
  if (limits.processes.named) COVE_TRY(parts_.group->set_pids(limits.processes.value));
  return {};
}

Result<std::unique_ptr<View>> NativeSandbox::open_view(const std::string& user) {
  sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  COVE_TRY(send(Writer(Type::View).text(user.empty() ? parts_.spec.user : user), {pair.second.get()}));
  return std::make_unique<SocketView>(std::move(pair.first));
}

Result<UniqueFd> NativeSandbox::dial(uint16_t port) {
  uint64_t token = next_token_++;
  COVE_TRY(send(Writer(Type::Dial).number(token).number(port)));
  Result<Reply> reply = wait_for_reply(Type::Dialed, {});
  if (!reply) return std::unexpected(reply.error());
  Reader in(reply->body);
  uint64_t answered = in.number();
  auto errnum = static_cast<int>(in.number());
  if (errnum != 0) return fail(Error::from_errno(errnum, concat("connect to port ", port, " of the sandbox")));
  if (answered != token || reply->fds.size() != 1) return fail(Code::Internal, "process 1 sent nonsense");
  COVE_TRY_NOTE(concat("connect to port ", port, " of the sandbox"), wait_for_connection(reply->fds[0].get()));
  return std::move(reply->fds[0]);
}

Result<void> NativeSandbox::take_over() {
  COVE_TRY(send(Writer(Type::Hello)));
  Reply table = COVE_TRY(wait_for_reply(Type::Table, {}));
  Reader in(table.body);
  uint64_t count = in.number();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    RunningExec exec;
    exec.spec.id = in.text();
    in.number();
    bool ended = in.number() != 0;
    auto status = static_cast<int>(in.number());
    exec.adopted = true;
    if (ended)
      pending_.push_back(ExecEnded{exec.spec.id, status});
    else
      execs_.emplace(exec.spec.id, std::move(exec));
  }
  return {};
}

Result<void> NativeSandbox::remove_group() {
  if (spare_.group) retired_.push_back(std::move(spare_.group));
  for (auto& group : retired_) static_cast<void>(sys::destroy(*group));
  retired_.clear();
  for (auto& [id, exec] : execs_)
    if (exec.group) static_cast<void>(sys::destroy(*exec.group));
  if (parts_.group) COVE_TRY_NOTE("remove the control group", sys::destroy(*parts_.group));
  parts_.group.reset();
  return {};
}

Result<void> NativeSandbox::remove_layer() {
  if (parts_.layer->mount().kind != LayerKind::Folder || ::geteuid() == 0) return parts_.layer->remove();
  // What is in it belongs to ids over which this user alone has no power.
  IdPlan ids = COVE_TRY(plan_rootless_ids(kUserId));
  return do_as_owner_of(ids, [this] { return parts_.layer->remove(); });
}

Result<void> NativeSandbox::destroy() {
  ended_ = true;
  if (parts_.builder && parts_.spec.lifetime == Lifetime::OneRun)
    kill_sandbox(*parts_.builder);
  else if (parts_.control)
    static_cast<void>(send(Writer(Type::Shutdown)));
  parts_.control.reset();
  // A subvolume can go while it is in use, and does so here: if this process is killed now, the builder goes on.
  Result<void> unlayered;
  if (parts_.layer->mount().kind == LayerKind::Pool) unlayered = parts_.layer->remove();
  if (parts_.idle_work) parts_.idle_work();
  // The groups go while the builder takes the mounts down.
  if (parts_.builder) wait_for_processes(*parts_.builder);
  Result<void> ungrouped = remove_group();
  if (parts_.builder) COVE_TRY(wait_for_end(*parts_.builder));
  parts_.builder.reset();
  if (!parts_.socket_path.empty()) ::unlink(parts_.socket_path.c_str());
  parts_.id_lock.reset();
  if (unlayered) unlayered = remove_layer();
  return ungrouped ? unlayered : ungrouped;
}

}  // namespace cove::native
