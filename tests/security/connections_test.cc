// A crowd that connects over TCP and shows no key.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

constexpr size_t kCrowd = 1100;

class Crowd : public Server {
 protected:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    Server::SetUp();
    rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * kCrowd) GTEST_SKIP() << "too few descriptors for the crowd";
  }

  // Each connects and says `words`, and then nothing.
  static std::vector<UniqueFd> gather(const std::string& words) {
    std::vector<UniqueFd> crowd;
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(tcp().port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < kCrowd; ++i) {
      crowd.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(::connect(crowd.back().get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
      if (!words.empty()) (void)::send(crowd.back().get(), words.data(), words.size(), MSG_NOSIGNAL);
    }
    return crowd;
  }

  static void expect_service(const std::string& key) {
    EXPECT_EQ(call("GET", "/v1/sandboxes").status, 200) << "of the owner, at the Unix socket";
    EXPECT_EQ(over_tcp("GET", "/v1/sandboxes", bearer(key)).status, 200) << "of a caller with a key";
  }
};

TEST_F(Crowd, ThatSaysNothingKeepsNobodyOut) {
  std::string key = make_key({"read"});
  std::vector<UniqueFd> crowd = gather("");
  expect_service(key);
}

TEST_F(Crowd, ThatBeginsRequestsKeepsNobodyOut) {
  std::string key = make_key({"read"});
  std::vector<UniqueFd> crowd = gather("GET /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n");
  expect_service(key);
}

TEST_F(Crowd, ThatIsRefusedAndStaysKeepsNobodyOut) {
  std::string key = make_key({"read"});
  std::vector<UniqueFd> crowd = gather("GET /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect_service(key);
}

TEST_F(Crowd, ThatAnnouncesBodiesKeepsNobodyOut) {
  std::string key = make_key({"read"});
  std::vector<UniqueFd> crowd =
      gather("POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
  expect_service(key);
}

}  // namespace
}  // namespace cove::test
