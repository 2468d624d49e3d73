#include "client/tls_tunnel.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "client/autostart.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr size_t kMostAnswer = 64 * 1024;

struct Ends {
  UniqueFd ours, theirs;
};

Result<Ends> make_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) return fail_errno("socketpair");
  return Ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// In a session of its own, which Ctrl-C does not reach; forked twice, so that it is no child to wait for.
Result<void> launch(const std::string& program, const Address& address, int socket) {
  const std::string port = std::to_string(address.port);
  const char* argv[] = {program.c_str(), address.host.c_str(), port.c_str(), nullptr};
  pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) {
      for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(socket, fd);
      ::execv(argv[0], const_cast<char**>(argv));
    }
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

// "-CODE\nMESSAGE\nHINT"; anything else is what the program's loader says.
Error read_refusal(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.resize(3);
  const int64_t code = parse_integer(lines[0], -static_cast<int64_t>(Code::Internal), 0).value_or(1);
  if (!text.starts_with('-') || code > 0) return Error(Code::Internal, concat("cove-tls failed: ", trim(text)));
  Error error(static_cast<Code>(-code), lines[1]);
  return lines[2].empty() ? std::move(error) : std::move(error).hint(lines[2]);
}

}  // namespace

Result<UniqueFd> open_tls_tunnel(const Address& address) {
  const std::string program = COVE_TRY_NOTE("speak TLS", program_beside("cove-tls"));
  Ends ends = COVE_TRY(make_pair());
  COVE_TRY(launch(program, address, ends.theirs.get()));
  ends.theirs.reset();
  std::string first = COVE_TRY(sys::read_all(ends.ours.get(), 1));
  if (first.starts_with('+')) return std::move(ends.ours);
  return fail(read_refusal(first + COVE_TRY(sys::read_all(ends.ours.get(), kMostAnswer))));
}

}  // namespace cove::client
