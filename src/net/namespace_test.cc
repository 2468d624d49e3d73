#include "net/namespace.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::net {
namespace {

using Sockets = NetworkSockets;
constexpr int kPatience = 5000;

// --- addresses as text: "192.0.2.1:443", "[2001:db8::1]:53" ---------------------------------------------------------

struct Place {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&address); }
};

Place place(const std::string& host, uint16_t port) {
  Place made;
  auto* six = reinterpret_cast<sockaddr_in6*>(&made.address);
  auto* four = reinterpret_cast<sockaddr_in*>(&made.address);
  if (host.find(':') != host.npos) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    ::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr);
    made.size = sizeof *six;
  } else {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    ::inet_pton(AF_INET, host.c_str(), &four->sin_addr);
    made.size = sizeof *four;
  }
  return made;
}

std::string text_of(const Place& place) {
  char text[INET6_ADDRSTRLEN] = {};
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&place.address);
  const auto* four = reinterpret_cast<const sockaddr_in*>(&place.address);
  if (place.address.ss_family == AF_INET6)
    return concat("[", std::string(::inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text)),
                  "]:", ntohs(six->sin6_port));
  return concat(std::string(::inet_ntop(AF_INET, &four->sin_addr, text, sizeof text)), ":", ntohs(four->sin_port));
}

// --- a namespace of the test's own -----------------------------------------------------------------------------------

constexpr uid_t kSomebody = 65534;

bool become_root_of_a_namespace(uid_t outside) {
  if (::geteuid() == 0 && outside != 0 &&
      (::setresgid(outside, outside, outside) < 0 || ::setresuid(outside, outside, outside) < 0))
    return false;
  ::prctl(PR_SET_DUMPABLE, 1);  // its own /proc files
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) return false;
  Result<void> mapped = sys::write_id_maps(::getpid(), {{0, outside, 1}}, {{0, outside, 1}}, sys::Setgroups::Deny);
  return mapped.has_value();
}

// Runs the test in a child that is root of new user and network namespaces, which `outside` owns.
void in_namespace(uid_t outside, const std::function<void()>& test) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!become_root_of_a_namespace(outside)) {
      std::perror("make namespaces");
      ::_exit(2);
    }
    test();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

struct Owner {
  const char* name;
  uid_t uid;
};
void PrintTo(const Owner& owner, std::ostream* out) { *out << owner.name; }

class Namespace : public testing::TestWithParam<Owner> {
 protected:
  void run(const std::function<void()>& test) { in_namespace(::geteuid() == 0 ? GetParam().uid : ::geteuid(), test); }
};
INSTANTIATE_TEST_SUITE_P(Owners, Namespace, testing::Values(Owner{"Root", 0}, Owner{"Rootless", kSomebody}),
                         [](const auto& info) { return std::string(info.param.name); });

Sockets set_up() {
  Result<Sockets> sockets = set_up_namespace();
  if (!sockets) {
    ADD_FAILURE() << sockets.error().message();
    std::fflush(nullptr);
    ::_exit(1);
  }
  return std::move(*sockets);
}

bool readable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, kPatience) == 1;
}

int start_connecting(const std::string& host, uint16_t port, UniqueFd& socket) {
  const Place to = place(host, port);
  socket.reset(::socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(socket.get(), to.get(), to.size) == 0 ? 0 : errno;
}

// Connects, accepts at the listener, and says what address was wanted.
std::string wanted_by_tcp(int listener, const std::string& host, uint16_t port) {
  UniqueFd client;
  const int error = start_connecting(host, port, client);
  if (error != 0 && error != EINPROGRESS) return std::strerror(error);
  if (!readable(listener)) return "nothing arrived";
  UniqueFd accepted(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) return std::strerror(errno);
  Place own;
  ::getsockname(accepted.get(), own.get(), &own.size);
  return text_of(own);
}

UniqueFd send_datagram(const std::string& host, uint16_t port, std::string_view text) {
  const Place to = place(host, port);
  UniqueFd socket(::socket(to.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), to.get(), to.size) < 0 || ::send(socket.get(), text.data(), text.size(), 0) < 0)
    socket.reset();
  return socket;
}

struct Datagram {
  Place from;
  Place wanted;
  std::string text;
};

std::optional<Datagram> receive_datagram(int socket) {
  if (!readable(socket)) return {};
  Datagram datagram;
  char data[512];
  alignas(cmsghdr) char control[256];
  iovec part = {data, sizeof data};
  msghdr message = {};
  message.msg_name = &datagram.from.address;
  message.msg_namelen = sizeof datagram.from.address;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = ::recvmsg(socket, &message, 0);
  if (size < 0) return {};
  datagram.text.assign(data, static_cast<size_t>(size));
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each))
    if (each->cmsg_type == IP_RECVORIGDSTADDR || each->cmsg_type == IPV6_RECVORIGDSTADDR)
      std::memcpy(&datagram.wanted.address, CMSG_DATA(each), each->cmsg_len - CMSG_LEN(0));
  return datagram;
}

// --- what arrives ----------------------------------------------------------------------------------------------------

TEST_P(Namespace, ConnectionsArriveWithTheWantedAddress) {
  run([] {
    Sockets sockets = set_up();
    ASSERT_EQ(sockets.steering, Steering::Tproxy);
    for (const char* host :
         {"192.0.2.1", "10.0.2.3", "198.18.0.1", "169.254.169.254", "10.1.2.3", "0.0.0.1", "240.0.0.1"})
      EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp4].get(), host, 443), concat(std::string_view(host), ":443"));
    EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp4].get(), "::ffff:192.0.2.1", 22), "192.0.2.1:22");
    EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp4].get(), "127.0.0.1", 53), "127.0.0.1:53");
    for (const char* host : {"2001:db8::1", "fd00:c0e::3", "fc00::1"})
      EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp6].get(), host, 443),
                concat("[", std::string_view(host), "]:443"));
  });
}

TEST_P(Namespace, DatagramsTellTheWantedAddress) {
  run([] {
    Sockets sockets = set_up();
    struct {
      const char* host;
      uint16_t port;
      Sockets::Index socket;
      const char* wanted;
    } const cases[] = {
        {"192.0.2.1", 53, Sockets::kUdp4, "192.0.2.1:53"},       {"10.0.2.3", 53, Sockets::kUdp4, "10.0.2.3:53"},
        {"127.0.0.1", 53, Sockets::kUdp4, "127.0.0.1:53"},       {"192.0.2.1", 443, Sockets::kUdp4, "192.0.2.1:443"},
        {"2001:db8::1", 53, Sockets::kUdp6, "[2001:db8::1]:53"}, {"::1", 53, Sockets::kUdp6, "[::1]:53"}};
    for (const auto& each : cases) {
      UniqueFd client = send_datagram(each.host, each.port, "hello");
      ASSERT_TRUE(client) << each.host;
      std::optional<Datagram> got = receive_datagram(sockets.fds[each.socket].get());
      ASSERT_TRUE(got) << each.host;
      EXPECT_EQ(text_of(got->wanted), each.wanted);
      EXPECT_EQ(got->text, "hello");
    }
  });
}

TEST_P(Namespace, ProgramsInsideTalkToEachOther) {
  run([] {
    Sockets sockets = set_up();
    for (const char* host : {"127.0.0.1", "127.8.8.8", "10.0.2.100", "::1", "fd00:c0e::2"}) {
      const Place own = place(host, 8080);
      UniqueFd server(::socket(own.address.ss_family, SOCK_STREAM, 0));
      ASSERT_EQ(::bind(server.get(), own.get(), own.size), 0) << host;
      ASSERT_EQ(::listen(server.get(), 1), 0);
      EXPECT_EQ(wanted_by_tcp(server.get(), host, 8080), text_of(own));
    }
  });
}

// --- answers
// -----------------------------------------------------------------------------------------------------------

uint16_t checksum(const void* data, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < size; i += 2) {
    uint16_t word;
    std::memcpy(&word, static_cast<const char*>(data) + i, 2);
    sum += word;
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// A datagram from any address, as the gateway sends it.
std::string packet4(const Place& from, const Place& to, std::string_view text) {
  const auto& source = reinterpret_cast<const sockaddr_in&>(from.address);
  const auto& target = reinterpret_cast<const sockaddr_in&>(to.address);
  iphdr ip = {};
  ip.version = 4;
  ip.ihl = 5;
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  ip.saddr = source.sin_addr.s_addr;
  ip.daddr = target.sin_addr.s_addr;
  ip.tot_len = htons(static_cast<uint16_t>(sizeof ip + sizeof(udphdr) + text.size()));
  ip.check = checksum(&ip, sizeof ip);
  udphdr udp = {};
  udp.source = source.sin_port;
  udp.dest = target.sin_port;
  udp.len = htons(static_cast<uint16_t>(sizeof udp + text.size()));
  std::string packet(reinterpret_cast<char*>(&ip), sizeof ip);
  packet.append(reinterpret_cast<char*>(&udp), sizeof udp).append(text);
  return packet;
}

// At port 53 of its own, too: the answer must reach it, rather than be taken for a question.
TEST_P(Namespace, AnswersComeFromTheAddressThatWasAsked) {
  run([] {
    Sockets sockets = set_up();
    for (uint16_t own_port : {uint16_t{5353}, uint16_t{53}}) {
      const Place own = place("127.0.0.1", own_port), to = place("192.0.2.1", 53);
      UniqueFd client(::socket(AF_INET, SOCK_DGRAM, 0));
      ASSERT_EQ(::bind(client.get(), own.get(), own.size), 0);
      ASSERT_EQ(::sendto(client.get(), "ask", 3, 0, to.get(), to.size), 3);
      std::optional<Datagram> question = receive_datagram(sockets.fds[Sockets::kUdp4].get());
      ASSERT_TRUE(question);
      const std::string packet = packet4(question->wanted, question->from, "told");
      ASSERT_EQ(::sendto(sockets.fds[Sockets::kRaw4].get(), packet.data(), packet.size(), 0, question->from.get(),
                         sizeof(sockaddr_in)),
                static_cast<ssize_t>(packet.size()));
      std::optional<Datagram> answer = receive_datagram(client.get());
      ASSERT_TRUE(answer) << own_port;
      EXPECT_EQ(text_of(answer->from), "192.0.2.1:53");
      EXPECT_EQ(answer->text, "told");
    }
  });
}

// --- what goes nowhere
// -------------------------------------------------------------------------------------------------

TEST_P(Namespace, OtherProtocolsAreRefusedAtOnce) {
  run([] {
    Sockets sockets = set_up();
    sys::poke("/proc/sys/net/ipv4/ping_group_range", "0 0").value();
    for (const char* host : {"192.0.2.1", "2001:db8::1", "10.0.2.3"}) {
      const Place to = place(host, 0);
      const bool v6 = to.address.ss_family == AF_INET6;
      UniqueFd ping(::socket(to.address.ss_family, SOCK_DGRAM, v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}));
      ASSERT_TRUE(ping) << std::strerror(errno);
      ASSERT_EQ(::connect(ping.get(), to.get(), to.size), 0);
      const char request[8] = {static_cast<char>(v6 ? 128 : 8)};
      char answer[64];
      // IPv6 tells it with the next call.
      bool refused = ::send(ping.get(), request, sizeof request, 0) < 0 ||
                     (readable(ping.get()) && ::recv(ping.get(), answer, sizeof answer, 0) < 0);
      EXPECT_TRUE(refused) << host;
      EXPECT_TRUE(errno == EPERM || errno == EACCES || errno == EHOSTUNREACH) << std::strerror(errno);
    }
  });
}

TEST_P(Namespace, ConnectionsAreRefusedWhenNoOneHoldsTheSockets) {
  run([] {
    {
      Sockets closed = set_up();
    }
    UniqueFd client;
    const int error = start_connecting("192.0.2.1", 443, client);
    ASSERT_TRUE(error == ECONNREFUSED || error == EINPROGRESS) << std::strerror(error);
    pollfd polled = {client.get(), POLLOUT, 0};
    ASSERT_EQ(::poll(&polled, 1, kPatience), 1);
    int outcome = error == EINPROGRESS ? 0 : error;
    socklen_t size = sizeof outcome;
    if (outcome == 0) ::getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &outcome, &size);
    EXPECT_EQ(outcome, ECONNREFUSED);
  });
}

// --- again
// -------------------------------------------------------------------------------------------------------------

TEST_P(Namespace, ASecondCallReplacesTheSockets) {
  run([] {
    Sockets first = set_up();
    Sockets second = set_up();
    EXPECT_EQ(wanted_by_tcp(second.fds[Sockets::kTcp4].get(), "192.0.2.1", 443), "192.0.2.1:443");
    EXPECT_EQ(wanted_by_tcp(second.fds[Sockets::kTcp6].get(), "2001:db8::1", 443), "[2001:db8::1]:443");
    UniqueFd client = send_datagram("192.0.2.1", 53, "hello");
    ASSERT_TRUE(receive_datagram(second.fds[Sockets::kUdp4].get()));
    EXPECT_LT(::accept4(first.fds[Sockets::kTcp4].get(), nullptr, nullptr, 0), 0);
    EXPECT_EQ(errno, EAGAIN);
  });
}

TEST_P(Namespace, PortsThatProgramsInsideHaveTakenAreLeftToThem) {
  run([] {
    std::vector<UniqueFd> taken;
    for (uint16_t port = 61'440; port < 61'450; ++port) {
      const Place own = place("0.0.0.0", port);
      taken.emplace_back(::socket(AF_INET, port % 2 ? SOCK_STREAM : SOCK_DGRAM, 0));
      ASSERT_EQ(::bind(taken.back().get(), own.get(), own.size), 0);
    }
    Sockets sockets = set_up();
    EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp4].get(), "192.0.2.1", 443), "192.0.2.1:443");
  });
}

// A program that binds every address at our port would get what is steered there.
TEST_P(Namespace, ProgramsInsideCannotTakeOverThePorts) {
  run([] {
    Sockets sockets = set_up();
    for (auto index : {Sockets::kTcp4, Sockets::kTcp6, Sockets::kUdp4, Sockets::kUdp6}) {
      Place ours;
      ASSERT_EQ(::getsockname(sockets.fds[index].get(), ours.get(), &ours.size), 0);
      const bool tcp = index == Sockets::kTcp4 || index == Sockets::kTcp6;
      UniqueFd thief(::socket(ours.address.ss_family, tcp ? SOCK_STREAM : SOCK_DGRAM, 0));
      const int one = 1;
      ::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      ::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
      EXPECT_TRUE(::bind(thief.get(), ours.get(), ours.size) < 0 || (tcp && ::listen(thief.get(), 1) < 0)) << index;
      EXPECT_EQ(errno, EADDRINUSE);
    }
  });
}

// --- other kernels
// -----------------------------------------------------------------------------------------------------

TEST_P(Namespace, ARedirectServesWhereTproxyIsMissing) {
  run([] {
    Result<Sockets> sockets = set_up_namespace(Programs::Here, Steering::Redirect);
    ASSERT_TRUE(sockets) << sockets.error().message();
    EXPECT_EQ(sockets->steering, Steering::Redirect);
    UniqueFd client;
    const int error = start_connecting("192.0.2.1", 443, client);
    ASSERT_TRUE(error == 0 || error == EINPROGRESS) << std::strerror(error);
    ASSERT_TRUE(readable(sockets->fds[Sockets::kTcp4].get()));
    UniqueFd accepted(::accept4(sockets->fds[Sockets::kTcp4].get(), nullptr, nullptr, SOCK_CLOEXEC));
    Place wanted;
    constexpr int kOriginalDestination = 80;
    ASSERT_EQ(::getsockopt(accepted.get(), SOL_IP, kOriginalDestination, wanted.get(), &wanted.size), 0);
    EXPECT_EQ(text_of(wanted), "192.0.2.1:443");
    UniqueFd asking = send_datagram("192.0.2.1", 53, "hello");
    EXPECT_TRUE(receive_datagram(sockets->fds[Sockets::kUdp4].get()));
    EXPECT_FALSE(send_datagram("192.0.2.1", 443, "hello"));
  });
}

TEST_P(Namespace, WorksWithoutIpv6) {
  run([] {
    for (const char* which : {"all", "default", "lo"})
      sys::poke(concat("/proc/sys/net/ipv6/conf/", std::string_view(which), "/disable_ipv6"), "1").value();
    Sockets sockets = set_up();
    EXPECT_FALSE(sockets.fds[Sockets::kTcp6]);
    EXPECT_FALSE(sockets.fds[Sockets::kRaw6]);
    EXPECT_EQ(wanted_by_tcp(sockets.fds[Sockets::kTcp4].get(), "192.0.2.1", 443), "192.0.2.1:443");
  });
}

}  // namespace
}  // namespace cove::net
