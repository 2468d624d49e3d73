// A registry at a public address that leads the server to its own loopback. In a network namespace of its own, where a
// public address can be had.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "base/unique_fd.h"
#include "image/registry.h"
#include "support/child.h"

namespace cove {
namespace {

constexpr const char* kPublic = "203.0.113.7";
constexpr const char* kLoopback = "127.0.0.1";

sockaddr_in place_of(const char* address, uint16_t port) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &place.sin_addr);
  return place;
}

// Raises the loopback, and gives it a second address.
bool enter_network() {
  if (::unshare(CLONE_NEWNET) < 0) return false;
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback = {};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) < 0) return false;
  ifreq other = {};
  std::strcpy(other.ifr_name, "lo:1");
  reinterpret_cast<sockaddr_in&>(other.ifr_addr) = place_of(kPublic, 0);
  return ::ioctl(socket.get(), SIOCSIFADDR, &other) == 0;
}

struct Listener {
  UniqueFd fd;
  uint16_t port = 0;
};
Listener listen_at(const char* address) {
  Listener listener{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in place = place_of(address, 0);
  socklen_t size = sizeof place;
  if (::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&place), size) < 0 || ::listen(listener.fd.get(), 8) < 0)
    ::abort();
  ::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&place), &size);
  listener.port = ntohs(place.sin_port);
  return listener;
}

// Answers every request the same, for as long as the process lives, and counts them.
void answer_all(int listener, const std::string& answer, std::atomic<int>& count) {
  std::thread([listener, answer, &count] {
    for (;;) {
      UniqueFd caller(::accept(listener, nullptr, nullptr));
      ++count;
      char head[4096];
      if (::recv(caller.get(), head, sizeof head, 0) > 0)
        (void)::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }).detach();
}

// What comes of asking a registry that answers like that, with TRAP for an address of the loopback; in a child, whose
// exit code says it: 0 where the server was kept from the trap.
int ask(std::string answer, Reach reach) {
  if (!enter_network()) return 10;
  Listener registry = listen_at(kPublic), trap = listen_at(kLoopback);
  const std::string trap_at = std::string(kLoopback) + ":" + std::to_string(trap.port);
  answer.replace(answer.find("TRAP"), 4, trap_at);
  std::atomic<int> asked_registry = 0, sprung = 0;
  answer_all(registry.fd.get(), answer, asked_registry);
  answer_all(trap.fd.get(), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", sprung);
  ImageReference reference;
  reference.registry = std::string(kPublic) + ":" + std::to_string(registry.port);
  reference.repository = "x";
  const std::atomic<bool> cancelled = false;
  Registry asked(reference, {}, {{reference.registry}, reach}, cancelled);
  Result<Registry::Fetched> fetched = asked.manifest("1");
  if (fetched || asked_registry == 0) return 11;
  if (sprung > 0) return 12;
  return fetched.error().code() == Code::Denied ? 0 : 13;
}

int exit_code_of(const std::function<int()>& work) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int in_child(const std::string& answer, Reach reach) {
  return exit_code_of([&] { return ask(answer, reach); });
}

// The same for a registry on the loopback, with a proxy there as well. `direct`: what sends requests past the proxy.
struct ProxyCase {
  const char* variable;
  const char* registry_host;
  const char* direct = "";
};
int ask_behind_proxy(const ProxyCase& given) {
  if (!enter_network()) return 10;
  Listener proxy = listen_at(kLoopback), trap = listen_at(kLoopback);
  std::atomic<int> asked_proxy = 0, sprung = 0;
  const std::string answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  answer_all(proxy.fd.get(), answer, asked_proxy);
  answer_all(trap.fd.get(), answer, sprung);
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"})
    ::unsetenv(name);
  ::setenv(given.variable, ("http://127.0.0.1:" + std::to_string(proxy.port)).c_str(), 1);
  ::setenv("no_proxy", given.direct, 1);
  ImageReference reference;
  reference.registry = given.registry_host + (":" + std::to_string(trap.port));
  reference.repository = "x";
  const std::atomic<bool> cancelled = false;
  Registry asked(reference, {}, {{reference.registry}, Reach::Public}, cancelled);
  Result<Registry::Fetched> fetched = asked.manifest("1");
  if (fetched) return 11;
  if (sprung > 0) return 12;
  if (asked_proxy > 0) return 14;
  return fetched.error().code() == Code::Denied ? 0 : 13;
}

constexpr const char* kAnswers[] = {
    "HTTP/1.1 302 Found\r\nLocation: http://TRAP/secret\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"http://TRAP/token\",service=\"s\"\r\n"
    "Content-Length: 0\r\nConnection: close\r\n\r\n"};

TEST(RegistryReach, ARedirectOrATokenServerDoesNotLeadToTheLoopback) {
  COVE_NEEDS_ROOT();
  for (const char* answer : kAnswers) EXPECT_EQ(in_child(answer, Reach::Public), 0) << answer;
}

// libcurl connects directly to these, whatever proxy is set.
TEST(RegistryReach, WhatGoesPastTheProxyDoesNotReachTheLoopback) {
  COVE_NEEDS_ROOT();
  const ProxyCase cases[] = {{"https_proxy", "127.0.0.1"},
                             {"http_proxy", "127.0.0.1"},
                             {"all_proxy", "localhost"},
                             {"https_proxy", "127.1"},
                             {"http_proxy", "127.1", "127.0.0.1"}};
  for (const ProxyCase& each : cases)
    EXPECT_EQ(exit_code_of([&] { return ask_behind_proxy(each); }), 0) << each.variable << " " << each.registry_host;
}

TEST(RegistryReach, TheProxyItselfMayBeInAPrivateNetwork) {
  COVE_NEEDS_ROOT();
  EXPECT_EQ(exit_code_of([] { return ask_behind_proxy({"http_proxy", "registry.example"}); }), 14);
}

TEST(RegistryReach, TheAdministratorsRegistryMayLeadAnywhere) {
  COVE_NEEDS_ROOT();
  for (const char* answer : kAnswers) EXPECT_EQ(in_child(answer, Reach::Anywhere), 12) << answer;
}

}  // namespace
}  // namespace cove
