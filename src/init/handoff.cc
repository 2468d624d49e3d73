#include "init/handoff.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "init/fences.h"
#include "init/passwd.h"
#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::init {
namespace {

// Above the target numbers, so that none is overwritten.
int move_up(int fd) {
  constexpr int kHigh = 64;
  return ::fcntl(fd, F_DUPFD_CLOEXEC, kHigh);
}

bool move_down(int high, int number) {
  return high >= 0 && ::dup3(high, number, O_CLOEXEC) == number && ::close(high) == 0;
}

int append(const char* path, const std::string& line) {
  int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return -1;
  struct stat info = {};
  bool ok = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  char last = '\n';
  if (ok && info.st_size > 0) ok = ::pread(fd, &last, 1, info.st_size - 1) == 1;
  std::string text = last == '\n' ? line : "\n" + line;
  ok =
      ok && ::lseek(fd, 0, SEEK_END) >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return ok ? 0 : -1;
}

}  // namespace

int receive_descriptors(const char* path, unsigned& user) {
  int high_connection = -1;
  int control = -1;
  int listener = -1;
  {
    Result<UniqueFd> connection = sys::connect_unix(path);
    if (!connection) return -1;
    Result<sys::Message> message = sys::receive_message(connection->get(), wire::kMaxMessage);
    if (!message || message->fds.empty() || message->fds.size() > 2) return -1;
    wire::Reader in(message->data);
    if (in.text() != wire::kHandoffWord) return -1;
    user = static_cast<unsigned>(in.number());
    if (!in.done()) return -1;
    high_connection = move_up(connection->get());
    control = move_up(message->fds[0].get());
    if (message->fds.size() == 2) listener = move_up(message->fds[1].get());
  }
  if (high_connection < 0 || !move_down(control, wire::kControlFd)) return -1;
  if (listener >= 0 && !move_down(listener, wire::kListenFd)) return -1;
  return high_connection;
}

void report_ready(int connection) {
  static_cast<void>(sys::send_message(connection, wire::Writer().number(static_cast<uint64_t>(landlock_abi())).data(),
                                      {}, MSG_DONTWAIT));
  ::close(connection);
}

int add_user(unsigned id) {
  User user;
  if (find_user("user", user)) return 0;
  std::string number = std::to_string(id);
  if (append("/etc/passwd", "user:x:" + number + ":" + number + ":user:/home/user:/bin/sh\n") < 0) return -1;
  if (append("/etc/group", "user:x:" + number + ":\n") < 0) return -1;
  if (::mkdir("/home", 0755) < 0 && errno != EEXIST) return -1;
  if (::mkdir("/home/user", 0755) < 0) return errno == EEXIST ? 0 : -1;
  return ::chown("/home/user", id, id);
}

}  // namespace cove::init
