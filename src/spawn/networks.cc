// The networks of sandboxes: their sockets are opened by a child that joins a sandbox's namespaces and ends. The
// program that serves them is a child with a user of its own.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "runtime/native/network.h"
#include "spawn/server.h"
#include "spawn/service_users.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

// Each takes about a millisecond, and a server that starts asks for those of all its sandboxes at once.
constexpr size_t kMostOpenings = 1024;

std::vector<int> numbers_of(const std::vector<UniqueFd>& fds) {
  std::vector<int> numbers;
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

constexpr int kNotRun = 125;

[[noreturn]] void give_up(const char* attempt) {
  std::fprintf(stderr, "cove-spawn: start cove-gateway: %s: %s\n", attempt, std::strerror(errno));
  ::_exit(kNotRun);
}

// Each connection takes two. As much as this process may have is enough where it cannot be raised.
void raise_descriptor_limit() {
  constexpr struct rlimit kMany = {524'288, 524'288};
  ::setrlimit(RLIMIT_NOFILE, &kMany);
}

// A terminal is not passed on: what the gateway reads comes from outside.
int errors_for_gateway(int nowhere) { return ::isatty(STDERR_FILENO) ? nowhere : STDERR_FILENO; }

// With the channel as descriptor 3, and nothing else of this process.
[[noreturn]] void become_gateway(const UserCredentials& user, int program, int channel, pid_t parent) {
  constexpr int kProgram = 4;
  ::setsid();
  raise_descriptor_limit();
  if (Result<void> assumed = assume_identity(user); !assumed) give_up(assumed.error().message().c_str());
  // Set after the change of identity, which would clear it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotRun);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::umask(077);
  if (::chdir("/") < 0) give_up("chdir /");
  const int nowhere = ::open("/dev/null", O_RDWR);
  std::vector<int> wanted = {nowhere, nowhere, errors_for_gateway(nowhere), channel, program};
  for (int& fd : wanted)
    if ((fd = ::fcntl(fd, F_DUPFD, kProgram + 1)) < 0) give_up("dup");
  for (size_t i = 0; i < wanted.size(); ++i) ::dup2(wanted[i], static_cast<int>(i));
  ::syscall(SYS_close_range, kProgram + 1, ~0u, 0);
  ::fcntl(kProgram, F_SETFD, FD_CLOEXEC);
  char name[] = "cove-gateway";
  char version[] = COVE_VERSION;
  char* const argv[] = {name, version, nullptr};
  char* const none[] = {nullptr};
  ::syscall(SYS_execveat, kProgram, "", argv, none, AT_EMPTY_PATH);
  give_up("execute it");
}

}  // namespace

// A former one is ended: there is one at a time.
Result<void> SpawnServer::start_gateway(uint64_t token) {
  if (gateway_.pidfd) static_cast<void>(sys::kill_by_pidfd(gateway_.pidfd.get(), SIGKILL));
  gateway_ = {};
  const UserCredentials user = COVE_TRY(gateway_user());
  UniqueFd program = COVE_TRY(sys::open(factory_.places().programs + "/cove-gateway", O_RDONLY));
  sys::SocketPair channel = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  const pid_t parent = ::getpid();
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) become_gateway(user, program.get(), channel.second.get(), parent);
  gateway_ = std::move(child);
  return done(token, {}, {channel.first.get()});
}

Result<void> SpawnServer::open_network(uint64_t token, wire::Reader& in) {
  LocalResources* resources = COVE_TRY(resources_of(in));
  if (!in.done()) return fail(Code::Invalid, "the request is malformed");
  const native::NetworkPlace place = COVE_TRY(resources->network_place());
  const std::string attempt = concat("open the network of sandbox ", resources->spec().id);
  auto open = [&]() -> Result<HelperAnswer> {
    native::NetworkMessage message = native::encode(COVE_TRY_NOTE(attempt, native::join_and_open_network(place)));
    return HelperAnswer{std::move(message.text), std::move(message.fds)};
  };
  auto pass_on = [this, token](wire::Reader& answer, const std::vector<UniqueFd>& fds) -> Result<void> {
    wire::Writer rest;
    const uint64_t steering = answer.number();
    rest.number(steering).number(answer.number());
    return done(token, rest, numbers_of(fds));
  };
  return run_helper(token, open, pass_on, kMostOpenings);
}

}  // namespace cove::spawn
