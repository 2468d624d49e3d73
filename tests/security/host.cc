#include "security/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/child.h"

namespace cove::test {
namespace {

constexpr const char* kMark = "cove-testee";
constexpr const char* kSysctls[] = {
    "kernel/core_pattern",
    "kernel/modprobe",
    "kernel/hostname",
    "kernel/domainname",
    "kernel/panic",
    "kernel/sysrq",
    "kernel/shmmax",
    "kernel/randomize_va_space",
    "vm/overcommit_memory",
    "vm/swappiness",
    "vm/panic_on_oom",
    "fs/suid_dumpable",
    "fs/file-max",
    "net/ipv4/ip_forward",
    "net/ipv4/ping_group_range",
    "user/max_user_namespaces",
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Lines of a kernel table that bear the mark of a testee.
std::string marked_lines(const std::string& path) {
  std::ifstream file(path);
  std::string marked;
  for (std::string line; std::getline(file, line);)
    if (line.find(kMark) != std::string::npos) marked += line + "\n";
  return marked;
}

// When the machine was started, by its own clock, to the hour: whoever sets the clock moves it.
std::string clock_base() {
  timespec now, up;
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  return std::to_string((now.tv_sec - up.tv_sec + 1800) / 3600);
}

std::string describe_file(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) < 0) return "absent";
  std::string text = std::to_string(info.st_mode) + " " + std::to_string(info.st_uid) + " ";
  if (!S_ISREG(info.st_mode)) return text;
  constexpr off_t kSmall = 1 << 16;
  text += std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec);
  return info.st_size > kSmall ? text : text + " " + read_text(path);
}

int listen_at(const sockaddr* address, socklen_t size) {
  int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || ::bind(socket, address, size) < 0 || ::listen(socket, 16) < 0) ::abort();
  return socket;
}

int listen_at_path(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  int socket = listen_at(reinterpret_cast<sockaddr*>(&address), sizeof address);
  if (::chmod(path.c_str(), 0777) < 0) ::abort();
  return socket;
}

int listen_at_abstract(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, name.c_str(), sizeof address.sun_path - 2);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return listen_at(reinterpret_cast<sockaddr*>(&address), size);
}

int listen_at_port(std::string& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int socket = listen_at(reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  port = std::to_string(ntohs(address.sin_port));
  return socket;
}

class HostEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    if (is_root()) Host::get().set_up();
  }
  void TearDown() override {
    if (is_root()) Host::get().tear_down();
  }
};

const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new HostEnvironment);

}  // namespace

Host& Host::get() {
  static Host host;
  return host;
}

void Host::set_up() {
  folder_ = "/tmp/cove-security-XXXXXX";
  if (!::mkdtemp(folder_.data()) || ::chmod(folder_.c_str(), 0755) < 0) ::abort();
  name_ = folder_.substr(5);
  make_homes();
  hide_files();
  make_workspaces();
  open_sockets();
  leak_descriptors();
  start_process();
  settings_["HOST_FOLDER"] = folder_;
  settings_["PREPARED"] = "/tmp/prepared";
}

void Host::make_homes() {
  for (auto [name, id] : {std::pair("ordinary", kOrdinary), std::pair("subordinate", kSubordinate)}) {
    std::string home = folder_ + "/" + name;
    if (::mkdir(home.c_str(), 0700) < 0 || ::chown(home.c_str(), id, id) < 0) ::abort();
  }
  std::string id = std::to_string(kSubordinate);
  std::ofstream(folder_ + "/passwd") << read_text("/etc/passwd") << name_ << ":x:" << id << ":" << id << "::" << folder_
                                     << "/subordinate:/bin/sh\n";
  // Above what useradd hands out, below the ranges that Cove takes as root (ids.cc).
  std::ofstream(folder_ + "/subids") << name_ << ":1800000000:65536\n";
}

std::string Host::workspace(Outside outside) const {
  return folder_ + "/workspace-" + std::to_string(static_cast<int>(outside));
}

void Host::make_workspaces() {
  for (auto [outside, owner] : {std::pair(Outside::Root, 0u), std::pair(Outside::Rootless, kOrdinary),
                                std::pair(Outside::Subordinate, kSubordinate)}) {
    std::string path = workspace(outside);
    std::filesystem::create_directory(path);
    std::string plain = own_file(path + "/plain", "plain", 0644);
    std::string others = own_file(path + "/others", "top secret", 0600);
    std::string node = path + "/node";
    if (::mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 3)) < 0 || ::chmod(node.c_str(), 0666) < 0) ::abort();
    std::filesystem::create_symlink(settings_["HOST_FILE_TMP"], path + "/link-out");
    std::filesystem::create_symlink("../../../../../../.." + settings_["HOST_FILE_TMP"], path + "/link-up");
    std::filesystem::create_symlink("/", path + "/link-root");
    std::filesystem::copy_file(build_folder() + "/testee-privilege", path + "/setuid");
    if (::chmod((path + "/setuid").c_str(), 06755) < 0) ::abort();
    constexpr unsigned kSomebodyElse = 54321;
    if (::chown(path.c_str(), owner, owner) < 0 || ::chown(plain.c_str(), owner, owner) < 0 ||
        ::chown(others.c_str(), kSomebodyElse, kSomebodyElse) < 0)
      ::abort();
  }
}

std::string Host::own_file(const std::string& path, const std::string& text, unsigned mode) {
  std::ofstream(path) << text;
  if (::chmod(path.c_str(), static_cast<mode_t>(mode)) < 0) ::abort();
  files_.push_back(path);
  return path;
}

std::string Host::hide(const std::string& folder, const std::string& name, const std::string& text) {
  return own_file(folder + "/" + name_ + "-" + name, text, 0600);
}

void Host::hide_files() {
  settings_["HOST_FILE_OPT"] = hide("/opt", "secret", "top secret");
  settings_["HOST_FILE_LOCAL"] = own_file("/usr/local/" + name_, "top secret", 0600);
  std::string closed = "/opt/" + name_ + "-closed";
  if (::mkdir(closed.c_str(), 0700) < 0) ::abort();
  files_.push_back(closed);
  settings_["HOST_FILE_CLOSED"] = own_file(closed + "/open", "top secret", 0644);
  settings_["HOST_FILE_HOME"] = own_file("/root/." + name_, "top secret", 0644);
  settings_["HOST_FILE_TMP"] = own_file(folder_ + "/secret", "top secret", 0644);
  settings_["HOST_FILE_SHM"] = own_file("/dev/shm/" + name_, "top secret", 0644);
}

void Host::open_sockets() {
  settings_["HOST_ABSTRACT"] = name_;
  settings_["HOST_SOCKET"] = folder_ + "/socket";
  settings_["HOST_RUN_SOCKET"] = "/run/" + name_;
  fds_.push_back(listen_at_abstract(name_));
  fds_.push_back(listen_at_path(settings_["HOST_SOCKET"]));
  fds_.push_back(listen_at_path(settings_["HOST_RUN_SOCKET"]));
  fds_.push_back(listen_at_port(settings_["HOST_PORT"]));
  files_.push_back(settings_["HOST_RUN_SOCKET"]);
}

// Without close-on-exec: every `cove` that a test starts inherits them.
void Host::leak_descriptors() {
  int root = ::open("/", O_RDONLY | O_DIRECTORY);
  int secret = ::open(settings_["HOST_FILE_OPT"].c_str(), O_RDWR);
  for (int number : {50, 100, 200}) fds_.push_back(::fcntl(root, F_DUPFD, number));
  fds_.push_back(root);
  fds_.push_back(secret);
}

void Host::start_process() {
  process_ = ::fork();
  if (process_ == 0) {
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  settings_["HOST_PROCESS"] = std::to_string(process_);
}

void Host::tear_down() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  for (int fd : fds_) ::close(fd);
  for (auto path = files_.rbegin(); path != files_.rend(); ++path) std::filesystem::remove(*path);
  std::filesystem::remove_all(folder_);
}

HostState Host::state() const {
  HostState state;
  for (const char* name : kSysctls) state[name] = read_text(std::string("/proc/sys/") + name);
  for (const char* table : {"/proc/self/mountinfo", "/proc/keys", "/proc/swaps", "/proc/modules", "/proc/net/unix"})
    state[std::string("marks in ") + table] = marked_lines(table);
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/usr/bin/yes", "/dev/null", "/usr/local/bin/cove-testee"})
    state[path] = describe_file(path);
  for (const char* program : {"/cove", "/cove-init", "/cove-sudo"})
    state[program] = describe_file(build_folder() + program);
  for (const std::string& path : files_) state[path] = describe_file(path);
  state["clock"] = clock_base();
  utsname names;
  ::uname(&names);
  state["hostname"] = names.nodename;
  state["process"] = ::waitpid(process_, nullptr, WNOHANG) == 0 ? "runs" : "ended";
  return state;
}

}  // namespace cove::test
