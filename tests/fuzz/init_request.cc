// Requests to process 1: those of the server, and those of anybody inside who asks for sudo. The process 1 here starts
// no programs and has a machine of its own: this file has the parts of it, and the system calls, that are linked in.
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "init/exec_child.h"
#include "init/ports.h"
#include "init/supervisor.h"
#include "init/view.h"
#include "messages.h"

namespace {

using namespace cove;
using namespace cove::fuzz;

// Beyond what Linux can have: no process is ever this one.
constexpr pid_t kFirstPid = 1 << 30;
constexpr pid_t kMostPids = 1 << 20;
pid_t next_pid = kFirstPid;

// How process 1 ends.
struct Exit {};

UniqueFd make_file(std::string_view content) {
  UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "fuzz", MFD_CLOEXEC)));
  require(file && ::pwrite(file.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
  return file;
}

int find_file(std::string_view path) {
  if (path == "/etc/passwd")
    return make_file("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n").release();
  if (path == "/etc/group") return make_file("root:x:0:\ncrew:x:20:user\n").release();
  if (path.starts_with("/proc/")) return make_file("0::/cove/g\n").release();
  if (path == "/dev/pts/ptmx") return open_nothing().release();
  errno = ENOENT;
  return -1;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

extern "C" {

int open(const char* path, int, ...) { return find_file(path); }

// No process is seen in /proc.
DIR* opendir(const char*) {
  errno = ENOENT;
  return nullptr;
}

int ioctl(int, unsigned long request, ...) noexcept { return request == TIOCGPTPEER ? open_nothing().release() : 0; }

int kill(pid_t pid, int number) noexcept {
  pid_t whom = pid < 0 ? -pid : pid;
  require(whom >= kFirstPid && whom < next_pid);
  require(number > 0 && number < NSIG);
  errno = ESRCH;
  return pid < 0 ? -1 : 0;
}

// Scripts that come later: their pipes are made, and then gone, of nothing.
int mkfifo(const char*, mode_t) noexcept { return 0; }
int lchown(const char*, uid_t, gid_t) noexcept { return 0; }
int unlink(const char*) noexcept { return 0; }

pid_t fork() noexcept {
  errno = EAGAIN;
  return -1;
}

int connect(int, const struct sockaddr*, socklen_t) {
  errno = ECONNREFUSED;
  return -1;
}

void _exit(int) { throw Exit(); }
}

namespace cove::init {

pid_t start_child(const ChildPlan& plan, UniqueFd& report) {
  const wire::ExecRequest& request = plan.request;
  require(!request.argv.empty() && !request.id.empty() && request.id.size() <= 64 && request.rlimits.size() <= 32);
  if (plan.terminal >= 0) require(is_open(plan.terminal));
  for (int fd : plan.stdio) require(plan.terminal >= 0 || is_open(fd));
  for (int fd : plan.join_fds) require(is_open(fd));
  errno = EAGAIN;
  if (request.argv[0] == "no") return -1;
  StartFailure failure = {wire::Stage::Execute, ENOENT};
  bool fails = request.argv[0] == "missing";
  report = make_file(fails ? std::string_view(reinterpret_cast<const char*>(&failure), sizeof failure) : "");
  return next_pid++;
}

void serve_view(UniqueFd, const User&, const Filters&, bool) { throw Exit(); }
void tell_ports(UniqueFd) { throw Exit(); }

int apply_landlock() { return 0; }

// What comes over its sockets and from its children, without them.
struct SupervisorFuzzer {
  Supervisor& supervisor;

  void request(sys::Message message) { supervisor.handle(std::move(message)); }

  void knock(UniqueFd socket) {
    auto client = std::make_unique<Supervisor::SudoClient>();
    client->socket = std::move(socket);
    client->peer = ::getpid();
    supervisor.drop_silent_sudo_clients();
    supervisor.sudo_clients_.push_back(std::move(client));
  }

  void hear() {
    for (auto& client : supervisor.sudo_clients_) supervisor.take_sudo_request(*client);
    supervisor.forget_closed_sudo_clients();
  }

  void hear_inner() { supervisor.take_inner_messages(); }

  // The oldest of the programs, or of those that sudo started.
  void end_program(int status) {
    for (auto& program : supervisor.programs_)
      if (!program->ended) return supervisor.program_ended(*program, status);
  }
  void end_petition(int status) {
    for (auto& client : supervisor.sudo_clients_)
      if (client->pid > 0) return supervisor.sudo_command_ended(*client, status);
  }
};

}  // namespace cove::init

namespace {

// The lower three bits of what is about a piece; the others count descriptors. Where programs run in another kernel,
// what ends a program is what process 1 there says.
enum class Way : uint8_t { Request, LongRequest, Knock, Petition, LongPetition, EndProgram, EndPetition, Silence };

class World {
 public:
  enum class Programs { Here, InAnotherKernel };
  World(init::Mode mode, Programs programs) : programs_(programs), supervisor_(server_.take_first(), UniqueFd(), mode) {
    if (programs_ == Programs::InAnotherKernel) supervisor_.run_programs_at(inner_.take_first());
  }

  void take(const Piece& piece) {
    size_t fds = piece.about >> 3 & 15;
    int status = piece.content.empty() ? 0 : piece.content[0] << 8;
    switch (static_cast<Way>(piece.about & 7)) {
      case Way::Request:
        return fuzzer_.request({std::string(piece.content), open_nothings(fds)});
      case Way::LongRequest:
        return fuzzer_.request(in_memory(piece, fds));
      case Way::Knock:
        inside_.emplace_back();
        fuzzer_.knock(inside_.back().take_first());
        [[fallthrough]];
      case Way::Petition:
        if (!inside_.empty()) inside_.back().say(piece.content, fds);
        return fuzzer_.hear();
      case Way::LongPetition:
        return petition_in_memory(in_memory(piece, fds));
      case Way::EndProgram:
        if (programs_ == Programs::Here) return fuzzer_.end_program(status);
        inner_.say(piece.content, fds);
        return fuzzer_.hear_inner();
      case Way::EndPetition:
        return fuzzer_.end_petition(status);
      case Way::Silence:
        if (!inside_.empty()) inside_.pop_back();
        return fuzzer_.hear();
    }
  }

  // What it says is for the server that it says it to, and of a length that one reads.
  void check() {
    for (const sys::Message& message : server_.hear()) {
      uint64_t type = wire::Reader(message.data).number();
      require(type >= static_cast<uint64_t>(wire::Type::Started) && type <= static_cast<uint64_t>(wire::Type::Waiting));
    }
    for (const sys::Message& message : inner_.hear()) {
      wire::Type type = wire::Reader(message.data).type<wire::Type>();
      require(type == wire::Type::Exec || type == wire::Type::Signal || type == wire::Type::Resize);
    }
    for (Peer& peer : inside_)
      for (const sys::Message& message : peer.hear()) {
        wire::Type type = wire::Reader(message.data).type<wire::Type>();
        require(type == wire::Type::Failed || type == wire::Type::Exited);
        require(message.fds.empty());
      }
  }

 private:
  // Type and flags in the message, the rest in a file.
  static sys::Message in_memory(const Piece& piece, size_t fds) {
    constexpr size_t kHead = 2 * sizeof(uint64_t);
    sys::Message message{std::string(piece.content.substr(0, kHead)), {}};
    message.fds.push_back(make_file(piece.content.substr(std::min(kHead, piece.content.size()))));
    for (UniqueFd& fd : open_nothings(fds)) message.fds.push_back(std::move(fd));
    return message;
  }

  void petition_in_memory(const sys::Message& message) {
    if (inside_.empty()) return;
    std::vector<int> fds;
    for (const UniqueFd& fd : message.fds) fds.push_back(fd.get());
    inside_.back().say_with(message.data, fds);
    fuzzer_.hear();
  }

  Programs programs_;
  Peer server_;
  Peer inner_;
  std::vector<Peer> inside_;
  init::Supervisor supervisor_;
  init::SupervisorFuzzer fuzzer_{supervisor_};
};

}  // namespace

// The first byte says in which mode process 1 was started.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (next_pid > kFirstPid + kMostPids) next_pid = kFirstPid;
  init::Mode mode;
  mode.one_exec = (data[0] & 1) != 0;
  mode.single_id = (data[0] & 2) != 0;
  World world(mode, (data[0] & 4) != 0 ? World::Programs::InAnotherKernel : World::Programs::Here);
  try {
    for (const Piece& piece : split_pieces({reinterpret_cast<const char*>(data) + 1, size - 1})) {
      world.take(piece);
      world.check();
    }
  } catch (const Exit&) {
  }
  return 0;
}
