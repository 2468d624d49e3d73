// The part of process 1 that answers sudo: anyone inside may ask, and gets a program started as the sandbox's root.
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

constexpr size_t kMaxPetitioners = 256;
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

void Supervisor::open_sudo_door() {
  Result<UniqueFd> door = sys::listen_unix(wire::kSudoAddress, 16, SOCK_NONBLOCK);
  if (door) sudo_door_ = std::move(*door);
}

void Supervisor::accept_petitioner() {
  UniqueFd socket(::accept4(sudo_door_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  turn_away_silent();
  // Whoever floods the door is turned away; the programs that already run are not touched.
  if (petitioners_.size() >= kMaxPetitioners) return;
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0) return;
  auto petitioner = std::make_unique<SudoClient>();
  petitioner->socket = std::move(socket);
  petitioner->peer = peer.pid;
  petitioners_.push_back(std::move(petitioner));
}

// Who has asked for nothing yet makes room for the next one, the longest waiting first: a request follows its
// connection at once, and is read before the next connection is accepted.
void Supervisor::turn_away_silent() {
  auto silent = [](const auto& petitioner) { return petitioner->pid < 0; };
  if (static_cast<size_t>(std::count_if(petitioners_.begin(), petitioners_.end(), silent)) < kMaxSilent) return;
  petitioners_.erase(std::find_if(petitioners_.begin(), petitioners_.end(), silent));
}

void Supervisor::take_petition(SudoClient& petitioner) {
  sys::Message message;
  switch (receive(petitioner.socket.get(), message)) {
    case Received::Nothing:
      return;
    case Received::Closed:
      if (petitioner.pid > 0) ::kill(-petitioner.pid, SIGHUP);
      return petitioner.socket.reset();
    case Received::Message:
      break;
  }
  Reader in(message.data);
  Type type = in.type<Type>();
  if (type == Type::Signal && petitioner.pid > 0) {
    auto number = static_cast<int>(in.number());
    if (number > 0 && number < NSIG) ::kill(-petitioner.pid, number);
  } else if (type == Type::Exec && petitioner.pid < 0) {
    uint64_t flags = in.number();
    wire::ExecRequest request;
    if (!read_request(in, (flags & wire::kExecInMemfd) != 0, message.fds, request)) return petitioner.socket.reset();
    start_petition(petitioner, std::move(request), std::move(message.fds));
  } else {
    petitioner.socket.reset();
  }
}

void Supervisor::start_petition(SudoClient& petitioner, wire::ExecRequest request, std::vector<UniqueFd> fds) {
  auto refuse = [&](Stage stage, int errnum) {
    send(petitioner.socket.get(),
         Writer(Type::Failed).number(static_cast<uint64_t>(stage)).number(static_cast<uint64_t>(errnum)));
    petitioner.socket.reset();
  };
  const Program* program = program_of(petitioner.peer);
  if (fds.size() != 3 || !program) return refuse(Stage::Request, EINVAL);
  ChildPlan plan;
  if (!find_user(request.user, plan.user)) return refuse(Stage::User, ENOENT);
  for (size_t i = 0; i < 3; ++i) plan.stdio[i] = fds[i].get();
  for (const UniqueFd& fd : program->join_fds) plan.join_fds.push_back(fd.get());
  plan.joins_by_number = mode_.inner;
  plan.filters = mode_.filters;
  plan.single_id = mode_.single_id;
  plan.request = std::move(request);
  plan.request.rlimits = program->rlimits;
  petitioner.pid = start_child(plan, petitioner.report);
  if (petitioner.pid < 0) refuse(Stage::Fork, errno);
}

// The program whose control group the process is in: what sudo starts belongs to the same. A sandbox with one program
// has no group for it apart; an orphan of a program that has ended gets nothing.
const Supervisor::Program* Supervisor::program_of(pid_t pid) const {
  const Program* last = nullptr;
  for (const auto& program : programs_) {
    if (program->ended) continue;
    if (!program->group.empty() && reads_as_member(pid, program->group)) return program.get();
    last = program.get();
  }
  return last;
}

void Supervisor::petition_ended(SudoClient& petitioner, int status) {
  StartFailure failure;
  if (::read(petitioner.report.get(), &failure, sizeof failure) == sizeof failure)
    send(petitioner.socket.get(), Writer(Type::Failed)
                                      .number(static_cast<uint64_t>(failure.stage))
                                      .number(static_cast<uint64_t>(failure.errnum)));
  else
    send(petitioner.socket.get(), Writer(Type::Exited).number(static_cast<uint64_t>(status)));
  petitioner.pid = -1;
  petitioner.socket.reset();
}

void Supervisor::forget_closed_petitioners() {
  std::erase_if(petitioners_, [](const auto& petitioner) { return !petitioner->socket; });
}

}  // namespace cove::init
