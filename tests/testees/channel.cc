// A hostile process at the door where sudo asks process 1: garbage, lies, floods. None of it may end process 1, make
// it wait, or get anything that a plain sudo does not give.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "init/protocol.h"
#include "testee.h"

namespace {

using namespace testee;
using cove::wire::ExecRequest;
using cove::wire::Type;
using cove::wire::Writer;

int knock(int flags = 0) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, cove::wire::kSudoAddress.data(), cove::wire::kSudoAddress.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + cove::wire::kSudoAddress.size());
  int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<sockaddr*>(&address), size) == 0) return socket;
  if (socket >= 0) ::close(socket);
  return -1;
}

bool say(int socket, const std::string& data, const std::vector<int>& fds = {}) {
  iovec vector = {const_cast<char*>(data.data()), data.size()};
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// The first byte of an answer, or -1 where process 1 hung up.
int answer(int socket) {
  char data[256];
  ssize_t size = ::recv(socket, data, sizeof data, 0);
  return size > 0 ? data[0] : -1;
}

// Is sudo still there for others?
Outcome afterwards() {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::execlp("sudo", "sudo", "true", nullptr);
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? held("sudo still works") : done("sudo is broken");
}

ExecRequest plain_request() {
  ExecRequest request;
  request.id = "sudo";
  request.user = "root";
  request.argv = {"true"};
  return request;
}

std::string exec_message(uint64_t flags, const std::string& body) {
  return Writer(Type::Exec).number(flags).data() + body;
}

// Whatever is said, the answer is a refusal or silence, never a program that started.
Outcome refused(const std::string& data, const std::vector<int>& fds = {}) {
  int socket = knock();
  if (socket < 0) return denied();
  if (say(socket, data, fds) && answer(socket) == static_cast<int>(Type::Exited)) return done("it was obeyed");
  ::close(socket);
  return afterwards();
}

Outcome garbage() {
  unsigned seed = 1;
  for (int round = 0; round < 300; ++round) {
    int socket = knock();
    if (socket < 0) return denied();
    std::string data(static_cast<size_t>(rand_r(&seed)) % 2000 + 1, '\0');
    for (char& c : data) c = static_cast<char>(rand_r(&seed));
    if (round % 2)
      data.replace(0, std::min<size_t>(8, data.size()), Writer(Type::Exec).data(), 0, std::min<size_t>(8, data.size()));
    say(socket, data, {0, 1, 2});
    ::close(socket);
  }
  return afterwards();
}

Outcome truncated() {
  std::string whole = exec_message(0, plain_request().encode());
  for (size_t size = 1; size < whole.size(); size += 3) {
    int socket = knock();
    if (socket < 0) return denied();
    say(socket, whole.substr(0, size), {0, 1, 2});
    if (answer(socket) == static_cast<int>(Type::Exited)) return done("it was obeyed");
    ::close(socket);
  }
  return afterwards();
}

Outcome huge_lengths() {
  for (uint64_t length : {~0ull, 1ull << 63, 1ull << 32, 0xffffffffull, 1ull << 61, 1ull << 20}) {
    Writer lie(Type::Exec);
    lie.number(0).text("sudo").text("root").text("/").number(length).text("true");
    Outcome outcome = refused(lie.data(), {0, 1, 2});
    if (outcome.kind != Outcome::Kind::Held) return outcome;
  }
  return held("sudo still works");
}

Outcome message_too_long() {
  int socket = knock();
  int size = 1 << 20;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  say(socket, std::string(150'000, 'x'), {0, 1, 2});
  ::close(socket);
  return afterwards();
}

Outcome many_descriptors() {
  std::vector<int> fds(250, 0);
  return refused(exec_message(0, plain_request().encode()), fds);
}

Outcome no_descriptors() { return refused(exec_message(0, plain_request().encode())); }

Outcome control_messages() {
  for (Type type : {Type::Shutdown, Type::View, Type::Dial, Type::Hello, Type::Attach, Type::Signal, Type::Resize}) {
    Outcome outcome = refused(Writer(type).text("root").number(9).number(1).data(), {0});
    if (outcome.kind != Outcome::Kind::Held) return outcome;
  }
  return held("sudo still works");
}

Outcome request_in_pipe() {
  int ends[2];
  if (::pipe(ends) < 0) return denied();
  return refused(exec_message(cove::wire::kExecInMemfd, ""), {ends[0], 0, 1, 2});
}

int memory_file() {
  const int file = ::memfd_create("x", MFD_CLOEXEC);
  return file >= 0 || errno != ENOSYS ? file : ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

Outcome huge_memfd() {
  int memfd = memory_file();
  if (::ftruncate(memfd, off_t{1} << 32) < 0) return denied();
  return refused(exec_message(cove::wire::kExecInMemfd, ""), {memfd, 0, 1, 2});
}

// The file shrinks and grows while process 1 reads it.
Outcome changing_memfd() {
  int memfd = memory_file();
  if (::ftruncate(memfd, 4 << 20) < 0) return denied();
  pid_t changer = ::fork();
  if (changer == 0)
    for (;;)
      if (::ftruncate(memfd, 0) < 0 || ::ftruncate(memfd, 4 << 20) < 0) ::_exit(1);
  for (int i = 0; i < 20; ++i) {
    int socket = knock();
    say(socket, exec_message(cove::wire::kExecInMemfd, ""), {memfd, 0, 1, 2});
    answer(socket);
    ::close(socket);
  }
  ::kill(changer, SIGKILL);
  ::waitpid(changer, nullptr, 0);
  return afterwards();
}

Outcome thousands_of_connections() {
  for (int i = 0; i < 2000; ++i) {
    int socket = knock();
    if (socket < 0) return denied();
    ::close(socket);
  }
  return afterwards();
}

// As many as it takes are held open, and say nothing.
Outcome silent_connections() {
  std::vector<int> sockets;
  for (int i = 0; i < 400; ++i) sockets.push_back(knock());
  Outcome outcome = afterwards();
  for (int socket : sockets) ::close(socket);
  return outcome;
}

// Asks, and does not read the answers; signals by the thousand to its own command.
Outcome unread_answers() {
  std::string request = exec_message(0, plain_request().encode());
  std::vector<int> sockets;
  for (int i = 0; i < 50; ++i) {
    int socket = knock();
    say(socket, request, {0, 1, 2});
    for (int signal = 0; signal < 100; ++signal) say(socket, Writer(Type::Signal).number(0).data());
    sockets.push_back(socket);
  }
  return afterwards();
}

Outcome strange_signals() {
  ExecRequest request = plain_request();
  request.argv = {"sleep", "5"};
  int socket = knock();
  say(socket, exec_message(0, request.encode()), {0, 1, 2});
  for (uint64_t number : {0ull, 65ull, ~0ull, 1ull << 32, 1ull << 31, 4294967287ull})
    say(socket, Writer(Type::Signal).number(number).data());
  ::close(socket);
  return afterwards();
}

// Limits that come with the request must not lift those of the sandbox.
Outcome lifted_limits() {
  int ends[2];
  if (::pipe(ends) < 0) return denied();
  ExecRequest request = plain_request();
  request.argv = {"sh", "-c", "ulimit -Hn"};
  request.rlimits = {{7, 1 << 20, 1 << 20}};
  int socket = knock();
  if (!say(socket, exec_message(0, request.encode()), {0, ends[1], 2}) || answer(socket) < 0) return denied();
  char text[32] = "";
  ::close(ends[1]);
  if (::read(ends[0], text, sizeof text - 1) <= 0) return denied();
  return std::atoi(text) > 65536 ? done(text) : held("the sandbox's own limits");
}

// Another user, by number or by a name with tricks in it.
Outcome strange_users() {
  ExecRequest request = plain_request();
  for (const char* user : {"4294967295", "70000", "-1", "../root", "root:x:0:0", "\n", "", "nobody:70000"}) {
    request.user = user;
    Outcome outcome = refused(exec_message(0, request.encode()), {0, 1});
    if (outcome.kind != Outcome::Kind::Held) return outcome;
  }
  return held("sudo still works");
}

constexpr Attempt kAttempts[] = {
    {"garbage", garbage},
    {"truncated", truncated},
    {"huge_lengths", huge_lengths},
    {"message_too_long", message_too_long},
    {"many_descriptors", many_descriptors},
    {"no_descriptors", no_descriptors},
    {"control_messages", control_messages},
    {"request_in_pipe", request_in_pipe},
    {"huge_memfd", huge_memfd},
    {"changing_memfd", changing_memfd},
    {"thousands_of_connections", thousands_of_connections},
    {"silent_connections", silent_connections},
    {"unread_answers", unread_answers},
    {"strange_signals", strange_signals},
    {"lifted_limits", lifted_limits},
    {"strange_users", strange_users},
};

}  // namespace

int main(int argc, char** argv) {
  refuse_outside();
  // Without an end: what it is for is that others are served meanwhile.
  if (argc == 2 && std::strcmp(argv[1], "flood") == 0)
    for (;;) {
      int socket = knock();
      say(socket, std::string(1000, 'x'), {0, 1, 2});
      ::close(socket);
    }
  return run(argc, argv, kAttempts);
}
