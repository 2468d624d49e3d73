// The network of a sandbox, up to the sockets through which everything leaves it.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "conformance/conformance.h"
#include "sys/file.h"

namespace cove::test {
namespace {

constexpr const char* kNone = "this runtime cannot give a sandbox a network";
constexpr int kPatience = 20'000;

SandboxSpec lasting(SandboxSpec spec) {
  spec.lifetime = Lifetime::Long;
  spec.limits.disk.value = 256 * kMiB;
  return spec;
}

const char* const kConnect = R"(
import errno, socket, sys
try:
    s = socket.create_connection((sys.argv[1], 443), timeout=20)
    s.sendall(b'from inside')
    print(s.recv(100).decode())
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
)";

const char* const kAsk = R"(
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b'question', (sys.argv[1], 53))
)";

UniqueFd accept_one(const UniqueFd& listener) {
  pollfd polled = {listener.get(), POLLIN, 0};
  if (::poll(&polled, 1, kPatience) != 1) return {};
  return UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

std::string own_address(const UniqueFd& socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0) return {};
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return concat(std::string_view(text), ":", ntohs(address.sin_port));
}

}  // namespace

bool Conformance::has_network() {
  const std::string& name = GetParam().asked_for;
  return (name.empty() ? runtime().capabilities() : runtime().capabilities_of(name)).network;
}

NetworkSockets Conformance::open_network(Sandbox& box) {
  Result<NetworkSockets> sockets = box.open_network();
  if (!sockets) throw std::runtime_error(sockets.error().message());
  return std::move(*sockets);
}

std::string Conformance::connect_outside(Sandbox& box, const NetworkSockets& network, const std::string& address) {
  ExecSpec client = command({"python3", "-c", kConnect, address});
  Result<Attachment> streams = box.exec(client);
  if (!streams) return streams.error().message();
  UniqueFd accepted = accept_one(network.fds[NetworkSockets::kTcp4]);
  char text[64];
  if (accepted && ::read(accepted.get(), text, sizeof text) == 11 && std::memcmp(text, "from inside", 11) == 0)
    static_cast<void>(sys::write_all(accepted.get(), concat("you wanted ", own_address(accepted))));
  accepted.reset();
  return finish(box, client.id, std::move(*streams)).out;
}

namespace {

TEST_P(Conformance, HasNoNetworkBeforeItIsOpened) {
  Ran ran = run(sandbox(lasting(spec())), command({"python3", "-c", kConnect, "192.0.2.1"}));
  EXPECT_EQ(ran.out, "ENETUNREACH\n");
}

TEST_P(Conformance, NetworkTellsTheWantedAddress) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets network = open_network(box);
  for (const char* address : {"192.0.2.1", "198.18.3.4", "10.0.2.3"})
    EXPECT_EQ(connect_outside(box, network, address), concat("you wanted ", std::string_view(address), ":443\n"));
}

TEST_P(Conformance, NetworkCarriesQuestionsForNames) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets network = open_network(box);
  for (const char* address : {"192.0.2.1", "10.0.2.3"}) {
    EXPECT_EQ(run(box, command({"python3", "-c", kAsk, address})).exit_code(), 0);
    char text[64];
    pollfd polled = {network.fds[NetworkSockets::kUdp4].get(), POLLIN, 0};
    ASSERT_EQ(::poll(&polled, 1, kPatience), 1) << address;
    EXPECT_EQ(::recv(polled.fd, text, sizeof text, 0), 8);
  }
}

TEST_P(Conformance, NetworkRefusesWhileNoOneServesIt) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  {
    NetworkSockets closed = open_network(box);
  }
  EXPECT_EQ(run(box, command({"python3", "-c", kConnect, "192.0.2.1"})).out, "ECONNREFUSED\n");
}

TEST_P(Conformance, NetworkMovesToNewSocketsWhenOpenedAgain) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets first = open_network(box);
  ASSERT_EQ(connect_outside(box, first, "192.0.2.1"), "you wanted 192.0.2.1:443\n");
  NetworkSockets second = open_network(box);
  EXPECT_EQ(connect_outside(box, second, "192.0.2.2"), "you wanted 192.0.2.2:443\n");
}

TEST_P(Conformance, NetworkIsOpenedAgainByANextServer) {
  if (!has_network()) GTEST_SKIP() << kNone;
  if (!runtime().capabilities().adopt) GTEST_SKIP() << "this runtime cannot adopt";
  SandboxSpec wanted = lasting(spec());
  {
    NetworkSockets lost = open_network(sandbox(wanted));
  }
  drop_handle();
  Result<std::unique_ptr<Sandbox>> again = runtime().adopt(wanted);
  ASSERT_TRUE(again) << again.error().message();
  NetworkSockets network = open_network(**again);
  EXPECT_EQ(connect_outside(**again, network, "192.0.2.1"), "you wanted 192.0.2.1:443\n");
  EXPECT_TRUE((*again)->destroy(Files::Remove));
}

TEST_P(Conformance, NetworkLeavesLoopbackAlone) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets network = open_network(box);
  Ran ran = run(box, command({"python3", "-c", R"(
import socket
for host in ('127.0.0.1', '::1'):
    server = socket.create_server((host, 8080), family=socket.AF_INET6 if ':' in host else socket.AF_INET)
    client = socket.create_connection((host, 8080), timeout=20)
    accepted, _ = server.accept()
    accepted.sendall(b'hello')
    print(client.recv(100).decode())
)"}));
  EXPECT_EQ(ran.out, "hello\nhello\n") << ran.err;
}

TEST_P(Conformance, NetworkIsKeptFromACommandWithoutOne) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets network = open_network(box);
  for (const std::vector<std::string>& prefix : {std::vector<std::string>(), {"sudo"}}) {
    ExecSpec alone = command(prefix);
    alone.no_network = true;
    alone.argv.insert(alone.argv.end(), {"python3", "-c", kConnect, "192.0.2.1"});
    Ran ran = run(box, alone);
    EXPECT_EQ(ran.out, "ENETUNREACH\n") << ran.err << (ran.failed ? ran.failed->error.message() : "");
  }
  EXPECT_EQ(connect_outside(box, network, "192.0.2.1"), "you wanted 192.0.2.1:443\n");
  EXPECT_EQ(run(box, command({"sudo", "id", "-u"})).out, "0\n");
}

TEST_P(Conformance, ACommandWithoutANetworkHasALoopbackOfItsOwn) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  ExecSpec alone = command({"python3", "-c", R"(
import socket
server = socket.create_server(('127.0.0.1', 8080))
client = socket.create_connection(('127.0.0.1', 8080), timeout=20)
server.accept()[0].sendall(b'hello')
print(client.recv(100).decode())
)"});
  alone.no_network = true;
  EXPECT_EQ(run(box, alone).out, "hello\n");
  alone.id = make_id();
  alone.argv = {"sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"};
  EXPECT_EQ(run(box, alone).out, "lo\n");
}

TEST_P(Conformance, NetworkIsNotForRunsWithoutAServer) {
  if (!has_network()) GTEST_SKIP() << kNone;
  if (!GetParam().asked_for.empty()) GTEST_SKIP() << "every sandbox of a server is long-lived";
  Sandbox& box = sandbox();
  Result<NetworkSockets> sockets = box.open_network();
  if (sockets) GTEST_SKIP() << "every sandbox of a server is long-lived";
  EXPECT_EQ(sockets.error().code(), Code::Unsupported);
  EXPECT_FALSE(sockets.error().hint().empty());
}

}  // namespace
}  // namespace cove::test
