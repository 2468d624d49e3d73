#include "init/supervisor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "init/channel.h"
#include "init/ports.h"
#include "init/request.h"
#include "init/view.h"

namespace cove::init {
namespace {

using wire::Reader;
using wire::Stage;
using wire::Type;
using wire::Writer;

constexpr int kMessagesPerTurn = 16;
constexpr size_t kProgramsPerTable = 300;
constexpr int kMaxBurst = 64;  // messages from inside in a burst; then one per millisecond
constexpr int kClosedMilliseconds = 5;
constexpr int kArmingMilliseconds = 5;

UniqueFd open_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

UniqueFd open_slave(int master) {
  int unlock = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlock) < 0) return {};
  return UniqueFd(::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

// The only way that gVisor supports.
UniqueFd open_slave_by_name(int master) {
  unsigned number = 0;
  if (::ioctl(master, TIOCGPTN, &number) < 0) return {};
  char path[32];
  std::snprintf(path, sizeof path, "/dev/pts/%u", number);
  return UniqueFd(::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

uint64_t layer_bytes() {
  struct statfs info;
  if (::statfs("/", &info) < 0) return 0;
  return (info.f_blocks - info.f_bfree) * static_cast<uint64_t>(info.f_bsize);
}

uint64_t monotonic_milliseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

Supervisor::Supervisor(UniqueFd control, UniqueFd listener, Mode mode)
    : control_(std::move(control)), listener_(std::move(listener)), mode_(mode), signals_(open_signals()) {}

void Supervisor::run() {
  if (mode_.landlock && apply_landlock() < 0) ::_exit(3);
  if (!inner_) open_sudo_socket();
  while (true) {
    bool open = may_take_inside_message();
    std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0},
                                  {control_.get(), POLLIN, 0},
                                  {listener_.get(), POLLIN, 0},
                                  {inner_ ? inner_.get()
                                   : open ? sudo_listener_.get()
                                          : -1,
                                   POLLIN, 0}};
    for (const auto& client : sudo_clients_) polled.push_back({open ? client->socket.get() : -1, POLLIN, 0});
    add_unfed(polled);
    add_own_networks(polled, open);
    if (unreported_) polled[1].events |= POLLOUT;
    int patience = arming_ ? kArmingMilliseconds : !open ? kClosedMilliseconds : needs_turns() ? kTurnMilliseconds : -1;
    int ready = ::poll(polled.data(), polled.size(), patience);
    if (ready > 0)
      serve(polled);
    else if (ready < 0 && errno != EINTR)
      ::_exit(4);  // never loop outside the limits
    if (arming_) look_for_waiting();
    if (needs_turns()) take_turn();
  }
}

void Supervisor::serve(const std::vector<pollfd>& polled) {
  if (polled[1].revents & ~POLLOUT) take_control_messages();
  if (polled[1].revents & POLLOUT) report_ended();
  if (polled[0].revents) reap();
  if (polled[2].revents) accept_server();
  feed(polled);
  size_t known = sudo_clients_.size();
  for (size_t i = 0; i < known && 4 + i < polled.size(); ++i)
    if (polled[4 + i].revents) --message_budget_, take_sudo_request(*sudo_clients_[i]);
  forget_closed_sudo_clients();
  if (polled[3].revents && inner_) return take_inner_messages();
  if (polled[3].revents) --message_budget_, accept_sudo_client(sudo_listener_, {});
  accept_from_own_networks(polled);
}

bool Supervisor::may_take_inside_message() {
  if (message_budget_ > 0) return true;
  uint64_t milliseconds = monotonic_milliseconds();
  uint64_t earned = std::min<uint64_t>(milliseconds - budget_since_, kMaxBurst);
  if (earned == 0) return false;
  message_budget_ = static_cast<int>(earned);
  budget_since_ = milliseconds;
  return true;
}

bool Supervisor::take_control_messages() {
  for (int i = 0; i < kMessagesPerTurn && control_; ++i) {
    sys::Message message;
    switch (receive(control_.get(), message)) {
      case Received::Nothing:
        return false;
      case Received::Closed:
        return control_closed(), false;
      case Received::Message:
        handle(std::move(message));
    }
  }
  return true;
}

void Supervisor::control_closed() {
  if (mode_.one_run) ::_exit(0);
  control_.reset();
}

void Supervisor::accept_server() {
  UniqueFd next(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!next) return;
  // Finishes requests of the earlier server, which may have acknowledged them already.
  while (control_ && take_control_messages()) {
  }
  control_ = std::move(next);
}

void Supervisor::handle(sys::Message message) {
  Reader in(message.data);
  switch (in.type<Type>()) {
    case Type::Exec:
      return handle_exec(in, std::move(message.fds));
    case Type::Signal:
      return handle_signal(in);
    case Type::Resize:
      return handle_resize(in);
    case Type::View:
      return handle_view(in, std::move(message.fds));
    case Type::Dial:
      return handle_dial(in);
    case Type::Ports:
      return handle_ports(in, std::move(message.fds));
    case Type::Hello:
      return send_table();
    case Type::Attach:
      return handle_attach(in);
    case Type::CloseInput:
      return close_input(in);
    case Type::Forget:
      return forget(in);
    case Type::IdentityRequest:
      return send_own_pidfd();
    case Type::Code:
      return handle_code(in);
    case Type::Shutdown:
      ::_exit(0);
    default:
      return;
  }
}

void Supervisor::handle_exec(Reader& in, std::vector<UniqueFd> fds) {
  uint64_t flags = in.number();
  const bool in_file = (flags & wire::kExecInMemfd) != 0;
  Forwarded exec{{}, flags, std::string(in.rest()), {}, {}};
  if (inner_ && in_file && !fds.empty()) exec.file.reset(::fcntl(fds.front().get(), F_DUPFD_CLOEXEC, 3));
  wire::ExecRequest request;
  if (!read_request(in, in_file, fds, request)) return failed(request.id, Stage::Request, EINVAL);
  if (!inner_) return start(std::move(request), flags, std::move(fds));
  exec.request = std::move(request);
  exec.fds = std::move(fds);
  pass_on(std::move(exec));
}

// Takes the descriptors of an exec that are kept for a later server; leaves the streams and what follows them.
bool Supervisor::take_streams(Program& program, uint64_t flags, std::vector<UniqueFd>& fds) {
  const bool pty = (flags & wire::kExecPty) != 0;
  const size_t first = (flags & wire::kExecNoInput) != 0 ? 1 : 0;  // of the three that are given
  const size_t stdio = pty ? 0 : 3 - first;
  const size_t kept = !pty && (flags & wire::kExecKeepPipes) ? stdio : 0;
  if (fds.size() < stdio + kept) return false;
  for (size_t i = 0; i < kept; ++i) {
    UniqueFd& end = fds[stdio + i];
    first + i == 0 ? program.kept_input = std::move(end) : program.kept.emplace_back(std::move(end));
  }
  fds.erase(fds.begin() + static_cast<std::ptrdiff_t>(stdio), fds.begin() + static_cast<std::ptrdiff_t>(stdio + kept));
  return true;
}

void Supervisor::start(wire::ExecRequest request, uint64_t flags, std::vector<UniqueFd> fds) {
  const bool pty = (flags & wire::kExecPty) != 0;
  const size_t first = (flags & wire::kExecNoInput) != 0 ? 1 : 0;  // of the three that are given
  const size_t stdio = pty ? 0 : 3 - first;
  auto program = std::make_unique<Program>();
  if (!take_streams(*program, flags, fds)) return failed(request.id, Stage::Request, EBADF);
  ChildPlan plan;
  if (!find_user(request.user, plan.user)) return failed(request.id, Stage::User, ENOENT);
  UniqueFd slave;
  if (pty && !open_terminal(request, plan.user, *program, slave)) return failed(request.id, Stage::Terminal, errno);
  const bool far = pty && (flags & wire::kExecFarTerminal) != 0;
  if (far && (fds.empty() || !start_pump(*program, fds[0].get()))) return failed(request.id, Stage::Terminal, errno);
  if (far) fds.clear();
  if ((flags & wire::kExecFeed) && !pty && first == 0 && !prepare_feeding(*program, fds[0]))
    return failed(request.id, Stage::Request, errno);
  plan.terminal = slave.get();
  plan.own_tty = far;
  plan.keys = program->keys.get();
  // Without input, process 1's own descriptor 0 is used, which is /dev/null.
  if (!pty) plan.stdio[0] = 0;
  for (size_t i = 0; i < stdio; ++i) plan.stdio[first + i] = fds[i].get();
  for (size_t i = stdio; i < fds.size(); ++i) plan.join_fds.push_back(fds[i].get());
  plan.filters = mode_.filters;
  plan.single_id = mode_.single_id;
  plan.request = std::move(request);
  program->id = plan.request.id;
  program->group = plan.request.group;
  program->rlimits = plan.request.rlimits;
  program->owner = plan.user;
  if (!choose_network(flags, *program, plan)) return failed(program->id, Stage::Network, errno);
  if (mode_.inner && !enter_groups(*program, plan)) return failed(program->id, Stage::JoinGroup, errno);
  if (flags & wire::kExecWaits) {
    program->script = plan.request.argv.back();
    if (!put_pipe_for_script(*program)) return failed(program->id, Stage::Request, errno);
    arming_ = true;
  }
  UniqueFd command;
  if (flags & wire::kExecCommandLater) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return failed(program->id, Stage::Fork, errno);
    command.reset(ends[0]);
    program->code.reset(ends[1]);
    plan.command = command.get();
  }
  if (!plan.request.compile.empty()) compile_first(plan, *program, fds, stdio, slave);
  program->pid = start_child(plan, program->report);
  if (program->pid < 0) return failed(program->id, Stage::Fork, errno);
  for (size_t i = stdio; i < fds.size(); ++i) program->join_fds.push_back(std::move(fds[i]));
  if (pty || mode_.inner)
    tell(Writer(Type::Started).text(program->id).number(static_cast<uint64_t>(program->pid)),
         mode_.inner ? std::vector<int>() : std::vector<int>{program->terminal.get()});
  if (program->code) tell(Writer(Type::Waiting).text(program->id));
  programs_.push_back(std::move(program));
}

bool Supervisor::open_terminal(const wire::ExecRequest& request, const User& user, Program& program, UniqueFd& slave) {
  program.terminal.reset(::open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!program.terminal) return false;
  slave = mode_.inner ? open_slave_by_name(program.terminal.get()) : open_slave(program.terminal.get());
  if (!slave) return false;
  winsize size = {static_cast<unsigned short>(request.rows), static_cast<unsigned short>(request.columns), 0, 0};
  ::ioctl(program.terminal.get(), TIOCSWINSZ, &size);
  if (mode_.single_id) return true;
  return ::fchown(slave.get(), user.uid, static_cast<gid_t>(-1)) == 0;
}

void Supervisor::failed(const std::string& id, Stage stage, int errnum) {
  tell(failure_of(id, stage, errnum, Step::Run));
}

void Supervisor::handle_signal(Reader& in) {
  std::string id = in.text();
  auto number = static_cast<int>(in.number());
  auto target = static_cast<wire::Target>(in.number());
  Program* program = find(id);
  if (!in.done() || !program || program->ended || number < 1 || number >= NSIG) return;
  if (inner_) {
    send(inner_.get(),
         Writer(Type::Signal).text(id).number(static_cast<uint64_t>(number)).number(static_cast<uint64_t>(target)));
    return;
  }
  note_request_to_end(*program, number);
  if (target == wire::Target::Everything && mode_.inner) return groups_.kill(id);
  if (program->pid <= 0) return;
  if (target == wire::Target::Everything) return kill_all_of(*program);
  // A program that has just been forked has no group of its own yet.
  if (target == wire::Target::Process || ::kill(-program->pid, number) < 0) ::kill(program->pid, number);
}

void Supervisor::handle_resize(Reader& in) {
  std::string id = in.text();
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(in.number());
  size.ws_col = static_cast<unsigned short>(in.number());
  Program* program = find(id);
  if (in.done() && program && program->terminal) ::ioctl(program->terminal.get(), TIOCSWINSZ, &size);
  // gVisor does not send SIGWINCH itself.
  if (in.done() && program && mode_.inner && program->pid > 0) {
    pid_t foreground = ::tcgetpgrp(program->terminal.get());
    ::kill(foreground > 0 ? -foreground : -program->pid, SIGWINCH);
  }
  if (in.done() && program && inner_)
    send(inner_.get(), Writer(Type::Resize).text(id).number(size.ws_row).number(size.ws_col));
}

namespace {

// A child that serves one socket, with none of process 1's descriptors: a reader may wait for the end of a pipe.
void keep_only(UniqueFd& socket) {
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr int kSocket = 3;
  if (::dup3(socket.get(), kSocket, O_CLOEXEC) < 0 && errno != EINVAL) ::_exit(1);
  ::syscall(SYS_close_range, kSocket + 1, kLastFd, 0);
  static_cast<void>(socket.release());
  socket.reset(kSocket);
}

// Non-blocking: a listener inside may keep its queue full on purpose.
int begin_to_connect(int family, uint16_t port, UniqueFd& connection) {
  connection.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection) return errno;
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  const bool is_four = family == AF_INET;
  const auto* address = is_four ? reinterpret_cast<const sockaddr*>(&four) : reinterpret_cast<const sockaddr*>(&six);
  int status = ::connect(connection.get(), address, is_four ? sizeof four : sizeof six);
  return status < 0 && errno != EINPROGRESS ? errno : 0;
}

}  // namespace

void Supervisor::handle_view(Reader& in, std::vector<UniqueFd> fds) {
  std::string name = in.text();
  User user;
  if (!in.done() || fds.size() != 1) return;
  if (!find_user(name, user)) {
    send(fds[0].get(), Writer(Type::Done).number(ESRCH));
    return;
  }
  pid_t pid = ::fork();
  if (pid < 0) send(fds[0].get(), Writer(Type::Done).number(static_cast<uint64_t>(errno)));
  if (pid != 0) return;
  keep_only(fds[0]);
  serve_view(std::move(fds[0]), user, mode_.filters, mode_.single_id);
}

// By a child, so that a sandbox with many processes and descriptors delays only its own answer.
void Supervisor::handle_ports(const Reader& in, std::vector<UniqueFd> fds) {
  if (!in.done() || fds.size() != 1) return;
  pid_t pid = ::fork();
  if (pid < 0) send(fds[0].get(), Writer(Type::Done).number(static_cast<uint64_t>(errno)));
  if (pid != 0) return;
  keep_only(fds[0]);
  tell_ports(std::move(fds[0]));
}

void Supervisor::handle_dial(Reader& in) {
  uint64_t token = in.number();
  uint64_t port = in.number();
  const int family = !in.rest().empty() && in.number() == 6 ? AF_INET6 : AF_INET;
  if (!in.done() || port < 1 || port > 65535) return;
  if (inner_) return tell(Writer(Type::Dialed).number(token).number(EOPNOTSUPP));
  UniqueFd connection;
  int errnum = begin_to_connect(family, static_cast<uint16_t>(port), connection);
  Writer message(Type::Dialed);
  message.number(token).number(static_cast<uint64_t>(errnum));
  tell(message, errnum == 0 ? std::vector<int>{connection.get()} : std::vector<int>{});
}

void Supervisor::handle_attach(Reader& in) {
  std::string id = in.text();
  Program* program = find(id);
  std::vector<int> fds;
  uint64_t flags = 0;
  if (program && program->terminal) {
    flags |= wire::kExecPty;
    fds.push_back(program->terminal.get());
  } else if (program) {
    if (!program->kept_input) flags |= wire::kExecNoInput;
    if (program->kept_input) fds.push_back(program->kept_input.get());
    for (const UniqueFd& fd : program->kept) fds.push_back(fd.get());
  }
  tell(Writer(Type::Attached).text(id).number(flags), fds);
}

void Supervisor::close_input(Reader& in) {
  Program* program = find(in.text());
  if (in.done() && program) program->kept_input.reset();
}

void Supervisor::forget(Reader& in) {
  std::string id = in.text();
  if (in.done()) std::erase_if(programs_, [&](const auto& program) { return program->id == id && program->ended; });
}

void Supervisor::send_own_pidfd() {
  UniqueFd me(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  tell(Writer(Type::Identity), me ? std::vector<int>{me.get()} : std::vector<int>{});
}

void Supervisor::send_table() {
  for (size_t from = 0; from == 0 || from < programs_.size(); from += kProgramsPerTable) {
    size_t count = std::min(kProgramsPerTable, programs_.size() - from);
    Writer message(Type::Table);
    message.number(from + count >= programs_.size() ? 1 : 0).number(count);
    for (size_t i = from; i < from + count; ++i)
      message.text(programs_[i]->id).text(programs_[i]->group).number(programs_[i]->terminal ? wire::kExecPty : 0);
    tell(message);
  }
  for (const auto& program : programs_) program->reported = false;
  report_ended();
}

Supervisor::Program* Supervisor::find(const std::string& id) {
  for (auto program = programs_.rbegin(); program != programs_.rend(); ++program)
    if ((*program)->id == id) return program->get();
  return nullptr;
}

void Supervisor::tell(const Writer& message, const std::vector<int>& fds) {
  if (control_) send(control_.get(), message, fds);
}

}  // namespace cove::init
