// The network of a sandbox, up to the sockets through which everything leaves it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "conformance/conformance.h"
#include "model/runtime_kind.h"
#include "sys/file.h"

namespace cove::test {
namespace {

constexpr const char* kNone = "this runtime cannot give a sandbox a network";
constexpr int kPatience = 20'000;

SandboxSpec lasting(SandboxSpec spec) {
  spec.lifetime = Lifetime::Long;
  spec.limits.disk.value = 256 * kMiB;
  spec.network.enabled = true;
  spec.network.tier = NetworkTier::Standard;
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

// What root inside could do to get around the sockets; the names of those that succeed.
const char* const kBreakOut = R"(
import os, socket, struct, sys

def netlink(protocol, kind, body, flags=0):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as s:
        s.settimeout(20)
        s.send(struct.pack('=IHHII', 16 + len(body), kind, 5 | flags, 1, 0) + body)
        answer = s.recv(4096)
        is_error = struct.unpack_from('=H', answer, 4)[0] == 2
        error = struct.unpack_from('=i', answer, 16)[0] if is_error else 0
        if error: raise OSError(-error, 'netlink')

def attribute(kind, data): return struct.pack('=HH', 4 + len(data), kind) + data
address = socket.inet_aton('10.0.2.100')
LOCAL_DEFAULT = struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 255, 0, 255, 0, 0)

def option(level, name, value, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s: s.setsockopt(level, name, value)

def write(path, text):
    with open(path, 'w') as f: f.write(text)

def raw(family, protocol): socket.socket(family, socket.SOCK_RAW, protocol).close()

attempts = {
    'delete the route': lambda: netlink(0, 25, LOCAL_DEFAULT),
    'add a route': lambda: netlink(0, 24, struct.pack('=BBBBBBBBI', 2, 24, 0, 0, 254, 4, 253, 1, 0)
                                   + attribute(1, socket.inet_aton('192.0.2.0')) + attribute(4, struct.pack('=I', 1)), 0x400),
    'add an address': lambda: netlink(0, 20, struct.pack('=BBBBI', 2, 32, 0, 0, 1) + attribute(2, socket.inet_aton('192.0.2.9')), 0x400),
    'delete the address': lambda: netlink(0, 21, struct.pack('=BBBBI', 2, 32, 0, 0, 1) + attribute(2, address)),
    'take the interface down': lambda: netlink(0, 16, struct.pack('=BBHiII', 0, 0, 0, 1, 0, 1)),
    'add an interface': lambda: netlink(0, 16, struct.pack('=BBHiII', 0, 0, 0, 0, 0, 0) + attribute(18, attribute(1, b'veth')), 0x600),
    'add a rule': lambda: netlink(0, 32, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0), 0x600),
    'reach nftables': lambda: netlink(12, (10 << 8) | 16, struct.pack('=BBH', 0, 0, 0)),
    'mark packets': lambda: option(socket.SOL_SOCKET, 36, 0xc0e),
    'be transparent': lambda: option(socket.SOL_IP, 19, 1),
    'open a raw socket': lambda: raw(socket.AF_INET, 255),
    'open a raw socket of IPv6': lambda: raw(socket.AF_INET6, 255),
    'open a packet socket': lambda: raw(socket.AF_PACKET, 0),
    'write a sysctl': lambda: write('/proc/sys/net/ipv4/ip_forward', '1'),
    'enter the network of process 1': lambda: os.open('/proc/1/ns/net', os.O_RDONLY),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
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

TEST_P(Conformance, HasNoNetworkUnlessItIsOpened) {
  Ran ran = run(sandbox(), command({"python3", "-c", kConnect, "192.0.2.1"}));
  EXPECT_THAT(ran.out, testing::AnyOf("ENETUNREACH\n", "EHOSTUNREACH\n")) << "the latter in gVisor";
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
    // There is no sudo in a network of gVisor's own.
    if (!prefix.empty() && has_own_kernel(runtime().capabilities().name))
      EXPECT_EQ(ran.out, "");
    else
      EXPECT_THAT(ran.out, testing::AnyOf("ENETUNREACH\n", "EHOSTUNREACH\n")) << ran.err;
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

TEST_P(Conformance, NetworkIsNotRootsInsideToChange) {
  if (!has_network()) GTEST_SKIP() << kNone;
  Sandbox& box = sandbox(lasting(spec()));
  NetworkSockets network = open_network(box);
  for (const char* user : {"root", "user"}) {
    ExecSpec attacker = command({"python3", "-c", kBreakOut});
    attacker.user = user;
    Ran ran = run(box, attacker);
    EXPECT_EQ(ran.exit_code(), 0) << ran.err;
    // In a kernel of its own, it has power over that kernel's network only.
    if (!has_own_kernel(runtime().capabilities().name)) EXPECT_EQ(ran.out, "") << "as " << user;
  }
  EXPECT_EQ(connect_outside(box, network, "192.0.2.1"), "you wanted 192.0.2.1:443\n");
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
