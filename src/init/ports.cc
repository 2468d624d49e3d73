#include "init/ports.h"

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "init/channel.h"
#include "init/process_files.h"
#include "init/protocol.h"

namespace cove::init {
namespace {

using wire::ListeningSocket;
using wire::Type;
using wire::Writer;

constexpr size_t kMostDescriptors = 100'000;  // looked at, of all processes
constexpr size_t kMostName = 64;
constexpr size_t kMostCommand = 512;
constexpr unsigned kListens = 0x0a;  // TCP_LISTEN in /proc/net/tcp
constexpr const char* kTables[] = {"/proc/net/tcp", "/proc/net/tcp6"};

using ByInode = std::map<uint64_t, ListeningSocket>;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// The kernel writes each word of an address as a number of the machine's order.
bool parse_address(const char* digits, size_t count, std::string& address) {
  address.clear();
  for (size_t at = 0; at < count; at += 8) {
    unsigned word = 0;
    if (std::sscanf(digits + at, "%8x", &word) != 1) return false;
    address.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return true;
}

// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 …"
void take_line(const char* line, ByInode& sockets) {
  char digits[33] = "";
  unsigned port = 0, state = 0;
  unsigned long long inode = 0;
  int read = std::sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %llu", digits,
                         &port, &state, &inode);
  if (read != 4 || state != kListens || inode == 0) return;
  const size_t count = std::string_view(digits).size();
  ListeningSocket socket;
  socket.port = port;
  if ((count == 8 || count == 32) && parse_address(digits, count, socket.address))
    sockets.emplace(inode, std::move(socket));
}

void take_table(const char* path, ByInode& sockets) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), std::fclose);
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get())) take_line(line, sockets);
}

std::string shortened(std::string text, size_t most) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  text.resize(std::min(text.size(), most));
  return text;
}

void name_process(pid_t pid, ListeningSocket& socket) {
  socket.pid = static_cast<uint64_t>(pid);
  std::string text;
  if (read_process_file(of_process(pid, "comm"), text)) socket.name = shortened(text, kMostName);
  if (read_process_file(of_process(pid, "cmdline"), text)) socket.command = shortened(text, kMostCommand);
}

// Whose descriptors they are.
class Owners {
 public:
  explicit Owners(ByInode& sockets) : sockets_(sockets) {}

  // Whether every process could be looked at.
  bool find() {
    Folder processes(::opendir("/proc"));
    while (dirent* entry = processes ? ::readdir(processes.get()) : nullptr)
      if (std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) look_at(std::atoi(entry->d_name));
    return processes && whole_;
  }

 private:
  void look_at(pid_t pid) {
    if (pid == 1) return;
    const std::string path = of_process(pid, "fd");
    Folder folder(::opendir(path.c_str()));
    if (!folder && errno != ENOENT) whole_ = false;
    while (dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
      if (++looked_at_ > kMostDescriptors) return void(whole_ = false);
      take_link(pid, path + "/" + entry->d_name);
    }
  }

  void take_link(pid_t pid, const std::string& path) {
    char target[64];
    ssize_t size = ::readlink(path.c_str(), target, sizeof target - 1);
    if (size <= 0) return;
    target[size] = '\0';
    unsigned long long inode = 0;
    if (std::sscanf(target, "socket:[%llu]", &inode) != 1) return;
    auto found = sockets_.find(inode);
    if (found != sockets_.end() && found->second.pid == 0) name_process(pid, found->second);
  }

  ByInode& sockets_;
  size_t looked_at_ = 0;
  bool whole_ = true;
};

}  // namespace

void tell_ports(UniqueFd socket) {
  ByInode sockets;
  for (const char* table : kTables) take_table(table, sockets);
  const bool whole = sockets.empty() || Owners(sockets).find();
  size_t told = 0;
  for (const auto& [inode, listening] : sockets) {
    // One of Cove's own, whose process is elsewhere.
    if (listening.pid == 0 && whole) continue;
    if (++told > wire::kMaxPorts) break;
    Writer message(Type::Port);
    listening.encode(message);
    if (!sys::send_message(socket.get(), message.data())) ::_exit(1);
  }
  static_cast<void>(sys::send_message(socket.get(), Writer(Type::Done).number(0).data()));
  ::_exit(0);
}

}  // namespace cove::init
