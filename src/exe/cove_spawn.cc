#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "config/config.h"
#include "runtime/native/own_folders.h"
#include "spawn/server.h"
#include "spawn/service_users.h"
#include "sys/file.h"
#include "sys/own_folder.h"
#include "sys/socket.h"
#include "sys/standard_streams.h"

// cove-spawn serve [--auto] [--config FILE] [--ready-fd N] [--set NAME=VALUE]…
//
// Starts coved, which serves the API without privilege, and performs its privileged operations. Ends with it.
namespace {

using namespace cove;

constexpr int kOwnFailure = 125;  // the same in every program of Cove

struct Order {
  bool autostarted = false;
  std::string config_file;
  int ready_fd = -1;
  std::vector<std::pair<std::string, std::string>> settings;
};

pid_t server_pid = -1;

void pass_on(int number) {
  if (server_pid > 0) ::kill(server_pid, number);
}

Result<Order> parse(int argc, char** argv) {
  Order order;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--auto") {
      order.autostarted = true;
    } else if (word == "--config") {
      // coved changes its working folder before it reads the file.
      order.config_file = std::filesystem::absolute(value), ++i;
    } else if (word == "--ready-fd") {
      order.ready_fd = static_cast<int>(COVE_TRY(parse_integer(value, 3, 1 << 20))), ++i;
    } else if (word == "--set" && value.find('=') != value.npos) {
      size_t equals = value.find('=');
      order.settings.emplace_back(value.substr(0, equals), value.substr(equals + 1)), ++i;
    } else {
      return fail(Code::Invalid, concat("unknown argument '", word, "'"));
    }
  }
  return order;
}

// The state folder belongs to this process; one folder in it belongs to coved.
Result<UniqueFd> prepare_state(const Config& config, const spawn::UserCredentials& identity) {
  if (!sys::exists(config.state)) COVE_TRY(sys::make_folders(config.state, 0755));
  COVE_TRY(sys::stat_own_folder(config.state, sys::kStateFolder));
  std::string own = config.state + "/server";
  Result<void> made = sys::mkdir(own, 0700);
  if (!made && made.error().code() != Code::Exists) return std::unexpected(made.error());
  UniqueFd folder = COVE_TRY(sys::open(own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::geteuid() == 0 && ::fchown(folder.get(), identity.uid, identity.gid) < 0)
    return fail_errno(concat("chown ", own));
  return folder;
}

bool is_listening(const sockaddr_un& address) {
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// A killed server may not have ended yet.
bool is_takeover(const sockaddr_un& address) {
  constexpr int kLooks = 50;
  constexpr unsigned kPause = 20'000;  // microseconds
  for (int i = 0; i < kLooks; ++i) {
    if (!is_listening(address)) return false;
    ::usleep(kPause);
  }
  return true;
}

// The default folder for the socket is accessible only to this user; the administrator decides about others.
Result<void> make_folder_of(const std::string& socket, const Config& config) {
  const std::string folder = socket.substr(0, socket.rfind('/'));
  if (folder == sys::run_folder() || folder == config.state + "/run") return sys::make_run_folder(folder);
  return sys::make_folders(folder, 0755);
}

// Access is decided by the client's uid, not by the file's permissions.
Result<UniqueFd> listen_at(const std::string& path, const Config& config) {
  constexpr int kBacklog = 512;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Code::Invalid,
                concat("the path of the socket is longer than ", sizeof address.sun_path - 1, ": ", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  COVE_TRY(make_folder_of(path, config));
  if (is_takeover(address)) return fail(Code::Exists, concat("a server is already listening at ", path));
  ::unlink(path.c_str());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  mode_t mask = ::umask(0111);
  int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(mask);
  if (bound < 0) return fail_errno(concat("bind ", path));
  if (::listen(socket.get(), kBacklog) < 0) return fail_errno(concat("listen at ", path));
  return socket;
}

// Sockets that systemd opened, then those of the configuration.
Result<std::vector<std::pair<UniqueFd, std::string>>> open_sockets(const Config& config) {
  std::vector<std::pair<UniqueFd, std::string>> sockets;
  const char* pid = ::getenv("LISTEN_PID");
  const char* count = ::getenv("LISTEN_FDS");
  if (pid && count && std::atoi(pid) == ::getpid()) {
    for (int i = 0; i < std::atoi(count); ++i) {
      sockaddr_storage address = {};
      socklen_t size = sizeof address;
      ::getsockname(3 + i, reinterpret_cast<sockaddr*>(&address), &size);
      sockets.emplace_back(UniqueFd(3 + i), address.ss_family == AF_UNIX ? "unix" : "tcp");
    }
    return sockets;
  }
  for (const ListenAddress& address : config.listen)
    if (address.kind == ListenAddress::Kind::Unix)
      sockets.emplace_back(COVE_TRY(listen_at(address.path, config)), "unix");
  return sockets;
}

Result<spawn::Callers> callers_of(const std::vector<std::pair<UniqueFd, std::string>>& sockets) {
  std::vector<int> listeners;
  for (const auto& [socket, kind] : sockets)
    if (kind == "unix") listeners.push_back(socket.get());
  return spawn::Callers::of(listeners);
}

// A copy of a file for coved, which may be another user without access to it.
using Copies = std::vector<std::pair<UniqueFd, std::string>>;  // with the option that names it
Result<UniqueFd> copy_of(const std::string& path) {
  constexpr size_t kLargest = 1 << 20;
  std::string text = COVE_TRY(sys::read_file(path, kLargest));
  UniqueFd copy(::memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return fail_errno("memfd_create");
  COVE_TRY(sys::write_all(copy.get(), text));
  if (::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
    return fail_errno("seal a copy");
  return copy;
}

// Certificate and key, if they are set.
Result<Copies> copy_tls(const Config& config) {
  Copies files;
  if (config.tls_cert.empty() || config.tls_key.empty()) return files;
  files.emplace_back(COVE_TRY_NOTE("read tls_cert", copy_of(config.tls_cert)), "--tls-cert-fd");
  files.emplace_back(COVE_TRY_NOTE("read tls_key", copy_of(config.tls_key)), "--tls-key-fd");
  return files;
}

// The key of the secrets, and the one before it, where systemd has them (LoadCredential=).
Result<void> copy_credentials(Copies& files) {
  constexpr std::pair<const char*, const char*> kCredentials[] = {{"cove-secrets-key", "--secrets-key-fd"},
                                                                  {"cove-secrets-key-old", "--old-secrets-key-fd"}};
  const char* folder = ::getenv("CREDENTIALS_DIRECTORY");
  if (!folder) return {};
  for (auto [name, option] : kCredentials) {
    const std::string path = concat(folder, "/", name);
    if (sys::exists(path))
      files.emplace_back(COVE_TRY_NOTE(concat("read the credential ", name), copy_of(path)), option);
  }
  return {};
}

std::vector<std::string> server_words(const Order& order, const std::vector<std::pair<UniqueFd, std::string>>& sockets,
                                      const Copies& copies, int channel, int folder) {
  std::vector<std::string> words = {"coved",
                                    "--wants-version",
                                    COVE_VERSION,
                                    "--channel",
                                    std::to_string(channel),
                                    "--folder-fd",
                                    std::to_string(folder),
                                    "--owner",
                                    std::to_string(::geteuid())};
  for (const auto& [socket, kind] : sockets) {
    words.push_back("--listen-fd");
    words.push_back(concat(socket.get(), ":", kind));
  }
  for (const auto& [file, option] : copies) words.insert(words.end(), {option, std::to_string(file.get())});
  if (order.autostarted) words.push_back("--auto");
  if (!order.config_file.empty()) words.insert(words.end(), {"--config", order.config_file});
  if (order.ready_fd >= 0) words.insert(words.end(), {"--ready-fd", std::to_string(order.ready_fd)});
  for (const auto& [name, value] : order.settings) words.insert(words.end(), {"--set", concat(name, "=", value)});
  return words;
}

[[noreturn]] void become_server(const spawn::UserCredentials& identity, int program, std::vector<std::string> words,
                                const std::vector<int>& kept) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  for (int fd : kept) ::fcntl(fd, F_SETFD, 0);
  if (::geteuid() == 0 && (::setgroups(0, nullptr) < 0 || ::setresgid(identity.gid, identity.gid, identity.gid) < 0 ||
                           ::setresuid(identity.uid, identity.uid, identity.uid) < 0)) {
    std::fprintf(stderr, "cove-spawn: assume coved's identity: %s\n", std::strerror(errno));
    ::_exit(kOwnFailure);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::syscall(SYS_execveat, program, "", argv.data(), environ, AT_EMPTY_PATH);
  std::fprintf(stderr, "cove-spawn: execute coved: %s\n", std::strerror(errno));
  ::_exit(kOwnFailure);
}

Result<int> serve(const Order& order) {
  ConfigSources sources;
  sources.file = order.config_file;
  sources.flags = order.settings;
  Config config = COVE_TRY(load_config(sources));
  // All later lookups of the state folder use the configured one.
  if (config.state != COVE_TRY(sys::find_folder(sys::kStateFolder))) ::setenv("COVE_STATE", config.state.c_str(), 1);
  const spawn::UserCredentials identity = spawn::server_user();
  UniqueFd folder = COVE_TRY_NOTE("prepare the state folder", prepare_state(config, identity));
  native::Places places = COVE_TRY(native::find_places());
  UniqueFd program = COVE_TRY(sys::open(places.programs + "/coved", O_RDONLY));
  std::vector<std::pair<UniqueFd, std::string>> sockets = COVE_TRY(open_sockets(config));
  spawn::Callers callers = COVE_TRY(callers_of(sockets));
  Copies copies = COVE_TRY(copy_tls(config));
  COVE_TRY(copy_credentials(copies));
  sys::SocketPair channel = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  std::vector<int> kept = {channel.second.get(), folder.get()};
  for (const auto& [socket, kind] : sockets) kept.push_back(socket.get());
  for (const auto& [file, option] : copies) kept.push_back(file.get());
  if (order.ready_fd >= 0) kept.push_back(order.ready_fd);
  server_pid = ::fork();
  if (server_pid < 0) return fail_errno("fork");
  if (server_pid == 0)
    become_server(identity, program.get(), server_words(order, sockets, copies, channel.second.get(), folder.get()),
                  kept);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) ::signal(number, pass_on);
  channel.second.reset();
  sockets.clear();
  copies.clear();
  if (order.ready_fd >= 0) ::close(order.ready_fd);
  spawn::HostRuns::Rules host{config.modes.allow_off, places.programs, COVE_TRY(native::own_folders(places))};
  spawn::SpawnServer server(std::move(channel.first),
                            native::SandboxFactory(std::move(places), native::IdRanges::AsTheKernelCan),
                            config.workspace_roots, std::move(host), std::move(callers));
  return server.run(server_pid);
}

}  // namespace

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::puts(COVE_VERSION), 0;
  if (argc < 2 || std::strcmp(argv[1], "serve") != 0) {
    std::fprintf(stderr, "cove-spawn: use `cove serve` to start it\n");
    return 2;
  }
  Result<Order> order = parse(argc, argv);
  Result<int> status = order ? serve(*order) : std::unexpected(order.error());
  if (status) return *status;
  std::string line = concat("cove: ", status.error().message());
  if (!status.error().hint().empty()) line += concat(" (", status.error().hint(), ")");
  std::fprintf(stderr, "%s\n", line.c_str());
  if (order && order->ready_fd >= 0) ::dprintf(order->ready_fd, "error: %s\n", line.c_str());
  return kOwnFailure;
}
