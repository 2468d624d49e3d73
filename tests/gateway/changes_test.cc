#include <poll.h>
#include <signal.h>

#include <fstream>

#include "gateway/fixture.h"

// A real gateway while policies change, budgets end, and it dies.
namespace cove::test {
namespace {

using Stage = net::NetworkEntry::Stage;
using Changes = GatewayFixture;

uint64_t resident_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (uint64_t kib = 0; word == "VmRSS:" && status >> kib) return kib * 1024;
  return 0;
}

TEST_F(Changes, WhatIsNoLongerAllowedIsCutBeforeThePolicyIsAcknowledged) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
  NetworkPolicy policy = standard({"web.example.org", "127.0.0.1"});
  policy.block = {"db.example.org"};
  set_policy(policy);
  char byte;
  EXPECT_EQ(::recv(accepted.fd(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "blocked"));
}

TEST_F(Changes, ATransferIsCutInItsMiddle) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  std::thread sends([&] {
    std::string block(1 << 20, 'x');
    while (::send(accepted.fd(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(client.receive(8 << 20).size(), 8u << 20);
  set_policy(standard({}));
  EXPECT_EQ(client.end(), ECONNRESET);
  sends.join();
}

TEST_F(Changes, WhatIsStillAllowedStaysOpen) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  allow({"db.example.org", "web.example.org"});
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
}

TEST_F(Changes, AnOpenConnectionIsCutWhereOnlyRequestsAreAllowedNow) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
  set_policy(standard({"GET db.example.org"}));
  EXPECT_EQ(client.end(), ECONNRESET);
}

TEST_F(Changes, AnIdleHttpConnectionIsCutWhereItsAddressIsNoLongerAllowed) {
  Server server;
  allow({kWeb, "127.0.0.1"});
  Peer client = dial(kWeb, server.port());
  client.send("GET / HTTP/1.1\r\nHost: web.example.org:" + std::to_string(server.port()) + "\r\n\r\n");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(14), "GET / HTTP/1.1");
  accepted.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.receive(40).size(), 40u);
  set_policy(standard({kWeb}));
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "private_address"));
}

TEST_F(Changes, ABudgetOfBytesCutsWhatIsOpen) {
  Server server;
  NetworkPolicy policy = standard({"db.example.org", "127.0.0.1"});
  policy.budget.bytes = 1 << 20;
  set_policy(policy);
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  std::thread sends([&] {
    std::string block(64 << 10, 'x');
    while (::send(accepted.fd(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  std::string received = client.receive_rest();
  sends.join();
  EXPECT_LT(received.size(), 8u << 20);
  EXPECT_TRUE(logged(Stage::Denied, "budget"));
  Peer next = dial("db.example.org", server.port());
  next.send("x\n");
  EXPECT_EQ(next.end(), ECONNRESET);
}

TEST_F(Changes, ABudgetOfConnectionsRefusesTheNextOne) {
  Server server;
  NetworkPolicy policy = standard({"db.example.org", "127.0.0.1"});
  policy.budget.connections = 1;
  set_policy(policy);
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  Peer next = dial("db.example.org", server.port());
  next.send("x\n");
  EXPECT_EQ(next.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "budget"));
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
}

TEST_F(Changes, ASandboxThatIsDetachedHasNoConnections) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
  gateway().detach(kSandbox);
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_EQ(accepted.end(), ECONNRESET);
}

TEST_F(Changes, TheGatewaysDeathIsAResetAndTheNextOneServes) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  client.send("x\n");
  EXPECT_EQ(accepted.receive(2), "x\n");
  pid_t first = gateway_pid();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_EQ(accepted.end(), ECONNRESET);
  Peer next = dial("db.example.org", server.port());
  next.send("y\n");
  EXPECT_EQ(server.accept().receive(2), "y\n");
  EXPECT_NE(gateway_pid(), first);
}

TEST_F(Changes, AddressesThatWereGivenOutLeadToTheirNamesAtTheNextGateway) {
  Server server;
  allow({"db.example.org", "web.example.org"});
  auto address = look_up("db.example.org");
  ASSERT_TRUE(address);
  pid_t first = gateway_pid();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  Peer client = dial(*address, server.port());
  client.send("x\n");
  EXPECT_EQ(server.accept().receive(2), "x\n");
  EXPECT_NE(gateway_pid(), first);
}

class FewDescriptors : public GatewayFixture {
 protected:
  static constexpr uint64_t kFew = 128;
  FewDescriptors() { descriptors_ = kFew; }
};

TEST_F(FewDescriptors, TheSilentGiveWay) {
  Server server;
  allow({"GET web.example.org", "db.example.org"});
  auto web = look_up(kWeb), db = look_up("db.example.org");
  ASSERT_TRUE(web && db);
  std::vector<Peer> silent;
  for (uint64_t i = 0; i < 2 * kFew; ++i) silent.push_back(dial(*web, 80));
  Peer client = dial(*db, server.port());
  client.send("hello\n");
  EXPECT_EQ(server.accept().receive(6), "hello\n");
}

// Ended from the other side: an error or its end is there to be read.
bool is_over(const Peer& peer) {
  pollfd ended = {.fd = peer.fd(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&ended, 1, 0) == 1;
}

TEST_F(FewDescriptors, WhoHasAConnectionKeepsIt) {
  Server server;
  allow({"db.example.org"});
  auto db = look_up("db.example.org");
  ASSERT_TRUE(db);
  std::vector<Peer> clients, accepted;
  do {
    clients.push_back(dial(*db, server.port()));
    // Each has its connection before the next one comes.
    for (int i = 0; i < kPatienceMs && !is_over(clients.back()) && !server.is_called(1); ++i) {
    }
    if (server.is_called(0)) accepted.push_back(server.accept());
  } while (!is_over(clients.back()) && clients.size() < 2 * kFew);
  EXPECT_EQ(clients.back().end(), ECONNRESET);
  ASSERT_FALSE(accepted.empty());
  clients.front().send("still here\n");
  EXPECT_EQ(accepted.front().receive(11), "still here\n");
}

TEST_F(Changes, AReaderThatIsStuckCostsBoundedMemory) {
  Server server;
  allow({"db.example.org"});
  auto address = look_up("db.example.org");
  ASSERT_TRUE(address);
  uint64_t before = resident_bytes(gateway_pid());
  std::vector<Peer> clients, accepted;
  for (int i = 0; i < 300; ++i) {  // more than there are large pipes
    clients.push_back(dial(*address, server.port()));
    accepted.push_back(server.accept());
    std::string block(256 << 10, 'x');
    for (int sent = 0; sent < 64; ++sent)
      if (::send(accepted.back().fd(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
  }
  EXPECT_LT(resident_bytes(gateway_pid()), before + (16 << 20));
  Peer other = dial(*address, server.port());
  Peer other_accepted = server.accept();
  other_accepted.send("not stuck");
  EXPECT_EQ(other.receive(9), "not stuck");
}

}  // namespace
}  // namespace cove::test
