#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "http/server.h"

namespace cove::http {
namespace {

constexpr int kBacklog = 1024;
constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

struct Address {
  sockaddr_storage value = {};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

// Numeric addresses only: a name could come to mean another interface.
Result<Address> ip_address(std::string host, uint16_t port) {
  if (host == "localhost") host = "127.0.0.1";
  if (host == "*" || host.empty()) host = "0.0.0.0";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Address address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.value);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.value);
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    address.size = sizeof four;
  } else if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    address.size = sizeof six;
  } else {
    return fail(Code::Invalid, concat("'", host, "' is no IP address to listen at"));
  }
  return address;
}

Result<Address> unix_address(const std::string& path) {
  Address address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.value);
  if (path.empty() || path.size() >= sizeof local.sun_path)
    return fail(Code::Invalid, concat("the socket's path '", path, "' is empty or too long"));
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

// Two servers that start at once look and bind one after the other.
Result<UniqueFd> lock_folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(concat("open ", folder));
  if (::flock(fd.get(), LOCK_EX) < 0) return fail_errno(concat("lock ", folder));
  return fd;
}

// Removes a socket that nobody listens at.
Result<void> make_way(const std::string& path, const Address& address) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) < 0) return errno == ENOENT ? Result<void>() : fail_errno(concat("stat ", path));
  if (!S_ISSOCK(info.st_mode)) return fail(Code::Exists, concat(path, " is there and is no socket"));
  UniqueFd probe(::socket(AF_UNIX, kKind, 0));
  if (!probe) return fail_errno("socket");
  if (::connect(probe.get(), address.get(), address.size) == 0 || errno == EAGAIN)
    return fail(Code::Exists, concat("a server answers at ", path));
  if (errno != ECONNREFUSED && errno != ENOENT) return fail_errno(concat("connect to ", path));
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return fail_errno(concat("unlink ", path));
  return {};
}

}  // namespace

Result<UniqueFd> listen_tcp(const std::string& host, uint16_t port) {
  Address address = COVE_TRY(ip_address(host, port));
  std::string name = concat(host, ":", port);
  UniqueFd socket(::socket(address.value.ss_family, kKind, 0));
  if (!socket) return fail_errno("socket");
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address.get(), address.size) < 0) {
    if (errno == EADDRINUSE) return fail(Error::from_errno(errno, concat("bind ", name)).as(Code::Exists));
    return fail_errno(concat("bind ", name));
  }
  if (::listen(socket.get(), kBacklog) < 0) return fail_errno(concat("listen ", name));
  return socket;
}

Result<UniqueFd> listen_unix_stream(const std::string& path, unsigned mode) {
  Address address = COVE_TRY(unix_address(path));
  UniqueFd lock = COVE_TRY(lock_folder_of(path));
  COVE_TRY(make_way(path, address));
  UniqueFd socket(::socket(AF_UNIX, kKind, 0));
  if (!socket) return fail_errno("socket");
  if (::bind(socket.get(), address.get(), address.size) < 0) return fail_errno(concat("bind ", path));
  // Nobody can connect before listen: there is no moment with another mode.
  if (::chmod(path.c_str(), mode) < 0) return fail_errno(concat("chmod ", path));
  if (::listen(socket.get(), kBacklog) < 0) return fail_errno(concat("listen ", path));
  return socket;
}

}  // namespace cove::http
