#include "init/own_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::init {
namespace {

constexpr const char* kCurrent = "/proc/self/ns/net";

bool raise_loopback() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return socket && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

bool furnish(OwnNetwork& network) {
  network.space.reset(::open(kCurrent, O_RDONLY | O_CLOEXEC));
  if (!network.space || !raise_loopback()) return false;
  Result<UniqueFd> sudo = sys::listen_unix(wire::kSudoAddress, 16, SOCK_NONBLOCK);
  if (sudo) network.sudo = std::move(*sudo);
  return sudo.has_value();
}

}  // namespace

bool make_own_network(OwnNetwork& network) {
  UniqueFd home(::open(kCurrent, O_RDONLY | O_CLOEXEC));
  if (!home || ::unshare(CLONE_NEWNET) < 0) return false;
  const bool made = furnish(network);
  const int errnum = errno;
  if (::setns(home.get(), CLONE_NEWNET) < 0) ::_exit(5);
  errno = errnum;
  return made;
}

}  // namespace cove::init
