#include "gateway/fixture.h"

// Connections through a real gateway: what gets through unchanged.
namespace cove::test {
namespace {

using Stage = net::NetworkEntry::Stage;
using Connections = GatewayFixture;

TEST_F(Connections, AServerThatSpeaksFirstIsHeardByAClientThatIsSilent) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  ASSERT_TRUE(accepted.valid());
  accepted.send("220 ready\r\n");
  EXPECT_EQ(client.receive(11), "220 ready\r\n");
  client.send("EHLO me\r\n");
  EXPECT_EQ(accepted.receive(9), "EHLO me\r\n");
}

TEST_F(Connections, AClientThatSpeaksFirstIsHeard) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.send("PING\r\n");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(6), "PING\r\n");
  accepted.send("+PONG\r\n");
  EXPECT_EQ(client.receive(7), "+PONG\r\n");
}

TEST_F(Connections, TextThatDoesNotEndIsHeardAfterAWhile) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.send("d 100");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(5), "d 100");
  accepted.send("+");
  EXPECT_EQ(client.receive(1), "+");
  client.send("0");
  EXPECT_EQ(accepted.receive(1), "0");
  client.send("\n and on");
  EXPECT_EQ(accepted.receive(8), "\n and on");
}

TEST_F(Connections, AHalfThatIsClosedLeavesTheOtherOpen) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.send("question\n");
  client.shut();
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive_rest(), "question\n");
  accepted.send("answer");
  accepted.close();
  EXPECT_EQ(client.receive_rest(), "answer");
  EXPECT_EQ(client.end(), 0);
}

TEST_F(Connections, AClientThatOnlyListensMayCloseItsHalfAtOnce) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.shut();
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive_rest(), "");
  accepted.send("the time");
  accepted.close();
  EXPECT_EQ(client.receive_rest(), "the time");
}

TEST_F(Connections, AResetOutsideIsAResetInside) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.send("x\n");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(2), "x\n");
  linger reset = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(accepted.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  accepted.close();
  EXPECT_EQ(client.end(), ECONNRESET);
}

TEST_F(Connections, AServerThatIsNotThereIsAReset) {
  uint16_t port = Server().port();
  allow({"db.example.org"});
  Peer client = dial("db.example.org", port);
  EXPECT_EQ(client.end(), ECONNRESET);
  auto logged = entries();
  ASSERT_FALSE(logged.empty());
  EXPECT_EQ(logged.back().stage, Stage::Closed);
  EXPECT_NE(logged.back().why.find("Connection refused"), std::string::npos) << logged.back().why;
}

TEST_F(Connections, ALargeTransferArrivesUnchangedBothWays) {
  constexpr size_t kSize = 64 << 20;
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  Peer accepted = server.accept();
  std::string out(kSize, 'o'), in(kSize, 'i');
  for (size_t i = 0; i < kSize; i += 4099) out[i] = static_cast<char>(i), in[i] = static_cast<char>(i >> 8);
  std::thread sends_out([&] { client.send(out), client.shut(); });
  std::thread sends_in([&] { accepted.send(in), accepted.shut(); });
  std::string received_out;
  std::thread receives_out([&] { received_out = accepted.receive_rest(); });
  EXPECT_TRUE(client.receive_rest() == in);
  for (std::thread* thread : {&sends_out, &sends_in, &receives_out}) thread->join();
  EXPECT_TRUE(received_out == out);
  auto counted = counters();
  EXPECT_EQ(counted.in_bytes, kSize);
  EXPECT_EQ(counted.out_bytes, kSize);
  EXPECT_EQ(counted.connections, 1u);
}

TEST_F(Connections, AConnectionHasAnEntryWhenItBeginsAndOneWhenItEnds) {
  Server server;
  allow({"db.example.org"});
  Peer client = dial("db.example.org", server.port());
  client.send("1234\n");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(5), "1234\n");
  accepted.close();
  client.close();
  while (!logged(Stage::Closed)) std::this_thread::yield();
  std::vector<net::NetworkEntry> of_connection;
  for (const auto& entry : entries())
    if (entry.connection != 0) of_connection.push_back(entry);
  ASSERT_EQ(of_connection.size(), 2u);
  EXPECT_EQ(of_connection[0].stage, Stage::Opened);
  EXPECT_EQ(of_connection[0].host, "db.example.org");
  EXPECT_EQ(of_connection[0].address, "127.0.0.1");
  EXPECT_EQ(of_connection[0].port, server.port());
  EXPECT_EQ(of_connection[0].rule, "db.example.org");
  EXPECT_EQ(of_connection[1].connection, of_connection[0].connection);
  EXPECT_EQ(of_connection[1].out_bytes, 5u);
}

TEST_F(Connections, AConnectionThatWasMadeBeforeThePolicyWaitsForIt) {
  Server server;
  Peer client = dial(net::parse_address("198.51.100.7").value(), server.port());
  client.send("x\n");
  EXPECT_FALSE(client.has_bytes());
  EXPECT_FALSE(server.is_called());
  allow({"db.example.org"});
  EXPECT_EQ(client.end(), ECONNRESET);  // its address is not allowed
}

TEST_F(Connections, TwoThousandAtOnceAreServed) {
  constexpr size_t kMany = 2000;
  Server server;
  allow({"db.example.org"});
  auto address = look_up("db.example.org");
  ASSERT_TRUE(address);
  std::vector<Peer> clients, accepted;
  for (size_t i = 0; i < kMany; ++i) {
    clients.push_back(dial(*address, server.port()));
    clients.back().send("x\n");
    accepted.push_back(server.accept());
    ASSERT_TRUE(accepted.back().valid()) << i;
  }
  for (Peer& peer : accepted) {
    peer.send("y");
    EXPECT_EQ(peer.receive(2), "x\n");
  }
  for (Peer& peer : clients) EXPECT_EQ(peer.receive(1), "y");
  EXPECT_EQ(counters().connections, kMany);
}

TEST_F(Connections, TheProxyMakesTunnels) {
  Server server;
  allow({"db.example.org"});
  std::string status;
  Peer client = dial_proxy("db.example.org", server.port(), &status);
  EXPECT_EQ(status, "HTTP/1.1 200 Connection established");
  Peer accepted = server.accept();
  accepted.send("banner");
  EXPECT_EQ(client.receive(6), "banner");
  client.send("hello\n");
  EXPECT_EQ(accepted.receive(6), "hello\n");
}

TEST_F(Connections, HttpIsPassedOnWithItsAnswer) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  client.send("GET /page HTTP/1.1\r\nHost: web.example.org:" + std::to_string(server.port()) + "\r\n\r\n");
  Peer accepted = server.accept();
  EXPECT_EQ(accepted.receive(18), "GET /page HTTP/1.1");
  accepted.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  accepted.close();
  EXPECT_EQ(client.receive(15), "HTTP/1.1 200 OK");
  EXPECT_TRUE(client.receive_rest().ends_with("ok"));
  EXPECT_FALSE(server.is_called());  // again
}

}  // namespace
}  // namespace cove::test
