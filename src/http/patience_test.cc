#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "http/server.h"
#include "http/test_support.h"

// Peers that are slow, stuck, gone or too many, and servers that stop.
namespace cove::http {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::Client;
using testing::Reply;
using testing::TestServer;

void answer(Exchange& exchange) { (void)exchange.respond(200, {}, "ok"); }

// Writes until that fails, and tells how.
Route endless(std::promise<Error>& end) {
  return {"GET", "/endless", [&](Exchange& exchange) {
            std::string piece(1 << 20, 'x');
            (void)exchange.begin(200, {}, std::nullopt);
            for (;;)
              if (auto written = exchange.write(piece); !written) return end.set_value(written.error());
          }};
}

// Waits with `fd` and tells why it woke.
Route waiter(std::promise<void>& waits, std::promise<Exchange::Wake>& woke, int fd = -1, milliseconds patience = 10s) {
  return {"GET", "/wait", [&waits, &woke, fd, patience](Exchange& exchange) {
            waits.set_value();
            auto wake = exchange.wait(fd, patience);
            woke.set_value(wake);
            (void)exchange.respond(200, {}, "woke");
          }};
}

TEST(Patience, EndsWithSlowHeaders) {
  TestServer server([](Router& router) { router.add({"GET", "/", answer}); }, {.header_patience = 200ms});
  Client client = Client::tcp(server);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n");
  // A byte now and then does not help.
  std::promise<void> over;
  std::thread dripping([&, done = over.get_future()] {
    while (done.wait_for(20ms) != std::future_status::ready) client.send("A");
  });
  Reply reply = client.receive();
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.headers["connection"], "close");
  over.set_value();
  dripping.join();
}

TEST(Patience, EndsWithSilentConnections) {
  TestServer server([](Router& router) { router.add({"GET", "/", answer}); },
                    {.header_patience = 200ms, .idle_patience = 200ms});
  EXPECT_TRUE(Client::tcp(server).ends());
  Client served = Client::local(server);
  EXPECT_EQ(served.get("/").status, 200);
  EXPECT_TRUE(served.ends());
}

TEST(Patience, EndsWithBodiesThatDoNotCome) {
  std::promise<Error> end;
  TestServer server(
      [&](Router& router) {
        router.add({"PUT", "/", [&](Exchange& exchange) {
                      auto body = exchange.read_all(100);
                      end.set_value(body.error());
                    }});
      },
      {.body_patience = 200ms});
  Client client = Client::local(server);
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(end.get_future().get().code(), Code::Unavailable);
  EXPECT_EQ(client.receive().status, 500);
  EXPECT_TRUE(client.ends());
}

TEST(Patience, StuckReadersHoldUpNobodyElse) {
  std::promise<Error> end;
  TestServer server(
      [&](Router& router) {
        router.add({"GET", "/", answer});
        router.add(endless(end));
      },
      {.body_patience = 300ms});
  Client stuck = Client::tcp(server);
  stuck.send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  auto ended = end.get_future();
  Client other = Client::tcp(server);
  int answers = 0;
  do {
    ASSERT_EQ(other.get("/").status, 200);
    ++answers;
  } while (ended.wait_for(0ms) != std::future_status::ready);
  EXPECT_EQ(ended.get().code(), Code::Unavailable);
  EXPECT_GT(answers, 10);
}

TEST(Cap, ConnectionsBeyondAreRefused) {
  TestServer server([](Router& router) { router.add({"GET", "/", answer}); }, {.max_connections = 3});
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Client::local(server));
    ASSERT_EQ(clients.back().get("/").status, 200);
  }
  EXPECT_EQ(server->connections(), 3u);
  for (int i = 0; i < 100; ++i) {
    Client refused = Client::local(server);
    Reply reply = refused.get("/");
    ASSERT_EQ(reply.status, 503);
    EXPECT_TRUE(reply.headers.contains("retry-after"));
    EXPECT_TRUE(reply.whole);
    EXPECT_TRUE(refused.ends());
  }
  ASSERT_EQ(clients[0].get("/").status, 200);
  clients.pop_back();
  while (Client::local(server).get("/").status == 503) std::this_thread::yield();
}

TEST(Cap, ACrowdAtOneListenerLeavesTheOtherAsItIs) {
  TestServer server([](Router& router) { router.add({"GET", "/", answer}); }, {.max_connections = 3});
  std::vector<Client> crowd;
  for (int i = 0; i < 3; ++i) {
    crowd.push_back(Client::tcp(server));
    ASSERT_EQ(crowd.back().get("/").status, 200);
  }
  EXPECT_EQ(Client::tcp(server).get("/").status, 503);
  EXPECT_EQ(Client::local(server).get("/").status, 200);
}

// Answers those who say "/known", and takes their word for it.
TestServer server_with_strangers(AnonymousLimits limits) {
  ListenerOptions options;
  options.strangers = limits;
  return TestServer(
      [](Router& router) {
        router.add({"GET", "/", answer});
        router.add({"GET", "/known", [](Exchange& exchange) {
                      exchange.vouch();
                      answer(exchange);
                    }});
      },
      {}, options);
}

TEST(AnonymousClients, TheOldestMakesRoom) {
  TestServer server = server_with_strangers({.most = 3, .most_of_one_address = 100});
  std::vector<Client> crowd;
  for (int i = 0; i < 3; ++i) {
    crowd.push_back(Client::tcp(server));
    ASSERT_EQ(crowd.back().get("/").status, 200);
  }
  EXPECT_EQ(Client::tcp(server).get("/").status, 200);
  EXPECT_TRUE(crowd[0].ends());
  EXPECT_EQ(crowd[2].get("/").status, 200);
}

TEST(AnonymousClients, WhoIsKnownStays) {
  TestServer server = server_with_strangers({.most = 3, .most_of_one_address = 2});
  Client known = Client::tcp(server);
  ASSERT_EQ(known.get("/known").status, 200);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Client::tcp(server).get("/").status, 200);
  EXPECT_EQ(known.get("/").status, 200);
}

Client client_at(const char* address, const TestServer& server) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &place.sin_addr);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  ::inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
  place.sin_port = htons(server.port());
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  return Client(std::move(socket));
}

TEST(AnonymousClients, OneAddressHasOnlyItsPart) {
  TestServer server = server_with_strangers({.most = 100, .most_of_one_address = 2});
  Client other = client_at("127.0.0.2", server);
  ASSERT_EQ(other.get("/").status, 200);
  std::vector<Client> crowd;
  for (int i = 0; i < 3; ++i) {
    crowd.push_back(Client::tcp(server));
    ASSERT_EQ(crowd.back().get("/").status, 200);
  }
  EXPECT_TRUE(crowd[0].ends());
  EXPECT_EQ(crowd[1].get("/").status, 200);
  EXPECT_EQ(other.get("/").status, 200);
}

TEST(AnonymousClients, ACrowdedAddressMakesRoomForOthers) {
  TestServer server = server_with_strangers({.most = 3, .most_of_one_address = 100});
  Client first = client_at("127.0.0.2", server);
  ASSERT_EQ(first.get("/").status, 200);
  std::vector<Client> crowd;
  for (int i = 0; i < 3; ++i) {
    crowd.push_back(Client::tcp(server));
    ASSERT_EQ(crowd.back().get("/").status, 200);
  }
  EXPECT_TRUE(crowd[0].ends());
  EXPECT_EQ(first.get("/").status, 200);
}

TEST(AnonymousClients, HaveLittleTime) {
  TestServer server = server_with_strangers({.patience = 100ms});
  EXPECT_TRUE(Client::tcp(server).ends());
  Client served = Client::tcp(server);
  ASSERT_EQ(served.get("/").status, 200);
  EXPECT_TRUE(served.ends());
}

TEST(Crew, ServesManyAtOnce) {
  TestServer server([](Router& router) { router.add({"GET", "/", answer}); });
  std::vector<Client> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(Client::local(server));
  for (auto& client : clients) client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  for (auto& client : clients) EXPECT_EQ(client.receive().status, 200);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_EQ(Client::local(server).get("/").status, 200);
    });
  for (auto& thread : threads) thread.join();
}

TEST(Wait, WakesWhenThePeerGoes) {
  for (bool tcp : {false, true}) {
    std::promise<void> waits;
    std::promise<Exchange::Wake> woke;
    std::promise<int> status;
    ListenerOptions options;
    options.done = [&](const Request&, const Route*, int code, auto) { status.set_value(code); };
    TestServer server([&](Router& router) { router.add(waiter(waits, woke)); }, {}, options);
    Client client = tcp ? Client::tcp(server) : Client::local(server);
    client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    waits.get_future().get();
    client.close();
    EXPECT_EQ(woke.get_future().get(), Exchange::Wake::Gone);
    status.get_future().get();
  }
}

TEST(Wait, AnUnansweredRequestOfOneWhoWentIsNoFailure) {
  std::promise<int> status;
  ListenerOptions options;
  options.done = [&](const Request&, const Route*, int code, auto) { status.set_value(code); };
  TestServer server(
      [&](Router& router) {
        router.add({"GET", "/", [](Exchange& exchange) {
                      while (exchange.wait(-1, 10s) != Exchange::Wake::Gone) {
                      }
                    }});
      },
      {}, options);
  Client client = Client::tcp(server);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.close();
  EXPECT_EQ(status.get_future().get(), 499);
}

TEST(Wait, PipelinedRequestsAreNotGoing) {
  std::promise<void> waits;
  std::promise<Exchange::Wake> woke;
  TestServer server([&](Router& router) {
    router.add({"GET", "/", answer});
    router.add(waiter(waits, woke, -1, 100ms));
  });
  Client client = Client::local(server);
  client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  waits.get_future().get();
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(woke.get_future().get(), Exchange::Wake::Timeout);
  EXPECT_EQ(client.receive().body, "woke");
  EXPECT_EQ(client.receive().body, "ok");
}

TEST(Wait, WakesForItsDescriptor) {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  std::promise<void> waits;
  std::promise<Exchange::Wake> woke;
  TestServer server([&](Router& router) { router.add(waiter(waits, woke, event.get())); });
  Client client = Client::tcp(server);
  client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  waits.get_future().get();
  ::eventfd_write(event.get(), 1);
  EXPECT_EQ(woke.get_future().get(), Exchange::Wake::Ready);
  EXPECT_EQ(client.receive().body, "woke");
}

TEST(Wait, SendsTheHeadThatIsHeld) {
  TestServer server([&](Router& router) {
    router.add({"GET", "/", [&](Exchange& exchange) {
                  (void)exchange.begin(200, {{"X-Early", "yes"}}, 4);
                  while (exchange.wait(-1, 10s) != Exchange::Wake::Gone) {
                  }
                }});
  });
  Client client = Client::tcp(server);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_exactly(12), "HTTP/1.1 200");
}

TEST(Stop, WakesWaitingHandlersAndLetsThemAnswer) {
  std::promise<void> waits;
  std::promise<Exchange::Wake> woke;
  TestServer server([&](Router& router) { router.add(waiter(waits, woke)); });
  Client client = Client::tcp(server);
  Client idle = Client::tcp(server);
  client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  waits.get_future().get();
  server->stop(10s);
  EXPECT_EQ(woke.get_future().get(), Exchange::Wake::Stopping);
  Reply reply = client.receive();
  EXPECT_EQ(reply.body, "woke");
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(idle.ends());
  EXPECT_EQ(server->connections(), 0u);
}

TEST(Stop, CutsWhatTakesTooLong) {
  std::promise<Error> end;
  std::promise<void> waits;
  TestServer server([&](Router& router) {
    router.add(endless(end));
    router.add({"GET", "/wait", [&](Exchange& exchange) {
                  waits.set_value();
                  while (exchange.wait(-1, 10s) != Exchange::Wake::Gone) std::this_thread::yield();
                }});
  });
  Client stuck = Client::local(server), stubborn = Client::local(server);
  stuck.send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  stubborn.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(stuck.read_exactly(12), "HTTP/1.1 200");
  waits.get_future().get();
  server->stop(100ms);
  EXPECT_EQ(end.get_future().get().code(), Code::Unavailable);
  EXPECT_TRUE(stubborn.ends());
}

TEST(Stop, TwiceAndWithoutStart) {
  auto server = Server::create({}).value();
  server->stop(0ms);
  server->stop(0ms);
  EXPECT_FALSE(server->listen(listen_tcp("127.0.0.1", 0).value(), std::make_shared<Router>(), {}));
}

TEST(Cut, ResetsTheConnection) {
  TestServer server([&](Router& router) {
    router.add({"GET", "/", [&](Exchange& exchange) {
                  (void)exchange.begin(200, {}, std::nullopt);
                  (void)exchange.write("part");
                  exchange.cut();
                  EXPECT_FALSE(exchange.write("more"));
                  EXPECT_EQ(exchange.wait(-1, 10s), Exchange::Wake::Gone);
                }});
  });
  Client client = Client::tcp(server);
  Reply reply = client.get("/");
  EXPECT_FALSE(reply.whole);
  EXPECT_EQ(client.end_error(), ECONNRESET);
  EXPECT_FALSE(Client::local(server).get("/").whole);
}

}  // namespace
}  // namespace cove::http
