// The part of process 1 that serves sudo: every user inside may connect and start a program as the sandbox's root.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "init/channel.h"
#include "init/request.h"
#include "init/supervisor.h"

namespace cove::init {
namespace {

using wire::Reader;
using wire::Stage;
using wire::Type;
using wire::Writer;

constexpr size_t kMaxSudoClients = 256;
constexpr size_t kMaxSilent = 64;

bool reads_as_member(pid_t pid, const std::string& group) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[8192];
  ssize_t size = fd ? ::read(fd.get(), text, sizeof text) : -1;
  return size > 0 &&
         std::string_view(text, static_cast<size_t>(size)).find("/" + group + "\n") != std::string_view::npos;
}

}  // namespace

void Supervisor::open_sudo_socket() {
  Result<UniqueFd> listener = sys::listen_unix(wire::kSudoAddress, 16, SOCK_NONBLOCK);
  if (listener) sudo_listener_ = std::move(*listener);
}

// In gVisor, every client comes through the same socket, and its group tells whose it is.
bool Supervisor::choose_network(uint64_t flags, Program& program, ChildPlan& plan) const {
  if (!(flags & wire::kExecOwnNetwork)) return true;
  plan.bare_network = program.bare_network = mode_.inner;
  if (mode_.inner) return true;
  if (!make_own_network(program.network)) return false;
  plan.network = program.network.space.get();
  return true;
}

void Supervisor::add_own_networks(std::vector<pollfd>& polled, bool open) const {
  for (const auto& program : programs_)
    if (open && program->network.sudo) polled.push_back({program->network.sudo.get(), POLLIN, 0});
}

void Supervisor::accept_from_own_networks(const std::vector<pollfd>& polled) {
  for (const auto& program : programs_) {
    const int listener = program->network.sudo.get();
    const bool ready = listener >= 0 && std::ranges::any_of(polled, [&](const pollfd& each) {
                         return each.fd == listener && each.revents != 0;
                       });
    if (ready) --message_budget_, accept_sudo_client(program->network.sudo, program->id);
  }
}

void Supervisor::accept_sudo_client(const UniqueFd& listener, const std::string& confined) {
  UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  drop_silent_sudo_clients();
  // Connections above the limit are closed; programs that are already running are not affected.
  if (sudo_clients_.size() >= kMaxSudoClients) return;
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0) return;
  auto client = std::make_unique<SudoClient>();
  client->socket = std::move(socket);
  client->peer = peer.pid;
  client->confined = confined;
  sudo_clients_.push_back(std::move(client));
}

// Clients that have sent no request yet are dropped for new ones, the oldest first: a real client sends its request
// immediately, and it is read before the next connection is accepted.
void Supervisor::drop_silent_sudo_clients() {
  auto silent = [](const auto& client) { return client->pid < 0; };
  if (static_cast<size_t>(std::count_if(sudo_clients_.begin(), sudo_clients_.end(), silent)) < kMaxSilent) return;
  sudo_clients_.erase(std::find_if(sudo_clients_.begin(), sudo_clients_.end(), silent));
}

void Supervisor::take_sudo_request(SudoClient& client) {
  sys::Message message;
  switch (receive(client.socket.get(), message)) {
    case Received::Nothing:
      return;
    case Received::Closed:
      if (client.pid > 0) ::kill(-client.pid, SIGHUP);
      return client.socket.reset();
    case Received::Message:
      break;
  }
  Reader in(message.data);
  Type type = in.type<Type>();
  if (type == Type::Signal && client.pid > 0) {
    auto number = static_cast<int>(in.number());
    if (number > 0 && number < NSIG) ::kill(-client.pid, number);
  } else if (type == Type::Exec && client.pid < 0) {
    uint64_t flags = in.number();
    wire::ExecRequest request;
    if (!read_request(in, (flags & wire::kExecInMemfd) != 0, message.fds, request)) return client.socket.reset();
    start_sudo_command(client, std::move(request), std::move(message.fds));
  } else {
    client.socket.reset();
  }
}

void Supervisor::start_sudo_command(SudoClient& client, wire::ExecRequest request, std::vector<UniqueFd> fds) {
  auto refuse = [&](Stage stage, int errnum) {
    send(client.socket.get(),
         Writer(Type::Failed).number(static_cast<uint64_t>(stage)).number(static_cast<uint64_t>(errnum)));
    client.socket.reset();
  };
  const Program* program = program_of(client);
  if (fds.size() != 3 || !program) return refuse(Stage::Request, EINVAL);
  ChildPlan plan;
  if (!find_user(request.user, plan.user)) return refuse(Stage::User, ENOENT);
  for (size_t i = 0; i < 3; ++i) plan.stdio[i] = fds[i].get();
  for (const UniqueFd& fd : program->join_fds) plan.join_fds.push_back(fd.get());
  plan.network = program->network.space.get();
  plan.bare_network = program->bare_network;
  plan.joins_by_number = mode_.inner;
  plan.filters = mode_.filters;
  plan.single_id = mode_.single_id;
  plan.request = std::move(request);
  plan.request.rlimits = program->rlimits;
  client.pid = start_child(plan, client.report);
  if (client.pid < 0) refuse(Stage::Fork, errno);
}

// The program whose control group contains the process: sudo's command joins the same group. A sandbox with one program
// has no separate group for it; an orphan of an ended program is refused.
//
// In a network of its own, a client is that exec's, whatever else it says: its commands stay there.
const Supervisor::Program* Supervisor::program_of(const SudoClient& client) const {
  const Program* last = nullptr;
  for (const auto& program : programs_) {
    if (program->ended) continue;
    if (client.confined != (program->network.space ? program->id : std::string())) continue;
    if (!program->group.empty() && reads_as_member(client.peer, program->group)) return program.get();
    last = program.get();
  }
  return last;
}

void Supervisor::sudo_command_ended(SudoClient& client, int status) {
  StartFailure failure;
  if (::read(client.report.get(), &failure, sizeof failure) == sizeof failure)
    send(client.socket.get(), Writer(Type::Failed)
                                  .number(static_cast<uint64_t>(failure.stage))
                                  .number(static_cast<uint64_t>(failure.errnum)));
  else
    send(client.socket.get(), Writer(Type::Exited).number(static_cast<uint64_t>(status)));
  client.pid = -1;
  client.socket.reset();
}

void Supervisor::forget_closed_sudo_clients() {
  std::erase_if(sudo_clients_, [](const auto& client) { return !client->socket; });
}

}  // namespace cove::init
