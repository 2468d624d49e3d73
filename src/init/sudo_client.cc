// sudo inside a sandbox: requests process 1 to start the command as another user of the sandbox.
#include "init/sudo_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "init/passwd.h"
#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::init {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

constexpr const char* kUsage =
    "usage: sudo [-EHins] [-u USER] [-g GROUP] [VAR=VALUE…] [COMMAND [ARG…]]\n"
    "Runs a command as another user of this sandbox (root by default). No password is needed.\n";

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "sudo: %s\n", message.c_str());
  std::exit(1);
}

UniqueFd connect_to_process_1() {
  Result<UniqueFd> socket = sys::connect_unix(wire::kSudoAddress);
  if (!socket) die(std::string("cannot reach process 1 of the sandbox: ") + std::strerror(socket.error().errnum()));
  return std::move(*socket);
}

// Without a memory control group memfds are not available, only files on a size-limited memory file system.
UniqueFd memory_file() {
  const int file = ::memfd_create("sudo", MFD_CLOEXEC);
  return UniqueFd(file >= 0 || errno != ENOSYS ? file : ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

void send_request(int socket, const wire::ExecRequest& request) {
  std::string encoded = request.encode();
  std::vector<int> fds = {0, 1, 2};
  Writer message(Type::Exec);
  UniqueFd memfd;
  if (encoded.size() + 64 < wire::kMaxMessage) {
    message.number(0);
    if (sys::send_message(socket, message.data() + encoded, fds)) return;
  } else {
    memfd = memory_file();
    if (!memfd || ::write(memfd.get(), encoded.data(), encoded.size()) != static_cast<ssize_t>(encoded.size()))
      die("the command line is too long");
    fds.insert(fds.begin(), memfd.get());
    message.number(wire::kExecInMemfd);
    if (sys::send_message(socket, message.data(), fds)) return;
  }
  die(std::string("cannot send the request to process 1: ") + std::strerror(errno));
}

int exit_like(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  int number = WTERMSIG(status);
  ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::raise(number);
  return 128 + number;
}

int report_failure(Reader& in, const wire::ExecRequest& request) {
  auto stage = static_cast<wire::Stage>(in.number());
  auto errnum = static_cast<int>(in.number());
  if (stage == wire::Stage::User) die("unknown user " + request.user);
  if (stage == wire::Stage::Execute) {
    std::fprintf(stderr, "sudo: %s: %s\n", request.argv[0].c_str(),
                 errnum == ENOENT ? "command not found" : std::strerror(errnum));
    return errnum == ENOENT ? 127 : 126;
  }
  die(std::string("cannot start the command: ") + std::strerror(errnum));
}

// Passes signals on until the command has ended.
int wait_for_end(int socket, const wire::ExecRequest& request) {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  while (true) {
    pollfd polled[] = {{socket, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0) continue;
    if (polled[1].revents) {
      signalfd_siginfo info;
      if (::read(signals.get(), &info, sizeof info) == sizeof info)
        static_cast<void>(sys::send_message(socket, Writer(Type::Signal).number(info.ssi_signo).data()));
    }
    if (!polled[0].revents) continue;
    Result<sys::Message> message = sys::receive_message(socket, wire::kMaxMessage);
    if (!message || message->data.empty()) die("process 1 refused the request");
    Reader in(message->data);
    Type type = in.type<Type>();
    if (type == Type::Failed) return report_failure(in, request);
    if (type == Type::Exited) return exit_like(static_cast<int>(in.number()));
  }
}

struct Options {
  std::string user = "root";
  std::string group;
  bool shell = false;
  bool login = false;
  bool keep_environment = false;
  std::vector<std::string> variables;
  std::vector<std::string> command;
};

// Reads one letter of an option cluster; true where it took the rest of the cluster, or the next word, as its value.
bool take_letter(char letter, const char* rest, char**& argument, Options& options) {
  auto value = [&]() -> std::string {
    if (*rest) return rest;
    if (!*++argument) die(std::string("option -") + letter + " needs a value");
    return *argument;
  };
  switch (letter) {
    case 'u':
      options.user = value();
      return true;
    case 'g':
      options.group = value();
      return true;
    case 'i':
      options.login = true;
      return false;
    case 's':
      options.shell = true;
      return false;
    case 'E':
      options.keep_environment = true;
      return false;
    case 'H':
    case 'n':
    case 'S':
    case 'k':
    case 'b':
    case 'P':
      return false;
    case 'V':
      std::printf("sudo of Cove %s\n", COVE_VERSION);
      std::exit(0);
    case 'h':
      std::fputs(kUsage, stdout);
      std::exit(0);
    case 'l':
    case 'v':
      std::printf("every user of this sandbox may run any command as root, without a password\n");
      std::exit(0);
    default:
      std::fputs(kUsage, stderr);
      die(std::string("unknown option -") + letter);
  }
}

void take_long_option(std::string_view word, Options& options) {
  if (word == "--preserve-env" || word.starts_with("--preserve-env="))
    options.keep_environment = true;
  else if (word == "--login")
    options.login = true;
  else if (word == "--shell")
    options.shell = true;
  else if (word.starts_with("--user="))
    options.user = std::string(word.substr(7));
  else if (word == "--non-interactive" || word == "--set-home")
    return;
  else if (word == "--help") {
    std::fputs(kUsage, stdout);
    std::exit(0);
  } else if (word == "--version") {
    std::printf("sudo of Cove %s\n", COVE_VERSION);
    std::exit(0);
  } else
    die("unknown option " + std::string(word));
}

Options parse(char** argument) {
  Options options;
  for (++argument; *argument && (*argument)[0] == '-' && (*argument)[1]; ++argument) {
    std::string_view word = *argument;
    if (word == "--") {
      ++argument;
      break;
    }
    if (word.starts_with("--")) {
      take_long_option(word, options);
      continue;
    }
    for (const char* letter = *argument + 1; *letter; ++letter)
      if (take_letter(*letter, letter + 1, argument, options)) break;
  }
  for (; *argument && std::strchr(*argument, '=') && std::strchr(*argument, '=') != *argument; ++argument)
    options.variables.emplace_back(*argument);
  for (; *argument; ++argument) options.command.emplace_back(*argument);
  return options;
}

// A shell gets the command as one line, every special character escaped.
std::string shell_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    if (!line.empty()) line += ' ';
    for (char c : word) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("_-$./", c)) line += '\\';
      line += c;
    }
  }
  return line;
}

std::vector<std::string> build_environment(const Options& options, const User& user) {
  std::vector<std::string> env;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    bool personal = text.starts_with("HOME=") || text.starts_with("USER=") || text.starts_with("LOGNAME=") ||
                    text.starts_with("SHELL=") || text.starts_with("MAIL=");
    if (!personal || (options.keep_environment && text.starts_with("HOME="))) env.emplace_back(text);
  }
  env.insert(env.end(), options.variables.begin(), options.variables.end());
  env.push_back("SUDO_COMMAND=" + (options.command.empty() ? user.shell : options.command[0]));
  env.push_back("SUDO_UID=" + std::to_string(::getuid()));
  env.push_back("SUDO_GID=" + std::to_string(::getgid()));
  if (const char* name = ::getenv("USER")) env.push_back(std::string("SUDO_USER=") + name);
  return env;
}

wire::ExecRequest build_request(const Options& options) {
  User user;
  if (!find_user(options.user, user)) die("unknown user " + options.user);
  wire::ExecRequest request;
  request.id = "sudo";
  request.user = options.group.empty() ? options.user : options.user + ":" + options.group;
  if (options.shell || options.login) {
    request.argv = {user.shell};
    if (options.login) request.argv.push_back("-l");
    if (!options.command.empty()) {
      request.argv.push_back("-c");
      request.argv.push_back(shell_line(options.command));
    }
  } else {
    request.argv = options.command;
  }
  if (!options.login) {
    char folder[4096];
    if (::getcwd(folder, sizeof folder)) request.cwd = folder;
  }
  request.env = build_environment(options, user);
  return request;
}

}  // namespace

int sudo_main(char** argv) {
  Options options = parse(argv);
  if (options.command.empty() && !options.shell && !options.login) {
    std::fputs(kUsage, stderr);
    return 1;
  }
  wire::ExecRequest request = build_request(options);
  UniqueFd socket = connect_to_process_1();
  send_request(socket.get(), request);
  return wait_for_end(socket.get(), request);
}

}  // namespace cove::init
