#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "http/test_support.h"

// What is said over a connection.
namespace cove::http {
namespace {

using std::chrono::milliseconds;
using testing::Client;
using ::testing::HasSubstr;
using testing::Reply;
using testing::TestServer;

void say_hello(Exchange& exchange) {
  (void)exchange.respond(200, {{"Content-Type", "text/plain"}}, "hello " + exchange.request().captures.at("name"));
}

// Sends back what came: the body in brackets, or the error.
void echo(Exchange& exchange) {
  auto body = exchange.read_all(4 << 20);
  if (body)
    (void)exchange.respond(200, {}, "[" + *body + "]");
  else
    (void)exchange.respond(body.error().code() == Code::Exhausted ? 413 : 400, {}, body.error().message());
}

void count_in_chunks(Exchange& exchange) {
  (void)exchange.begin(200, {{"Content-Type", "text/plain"}}, std::nullopt);
  for (auto word : {"one", "", "two", "three"}) (void)exchange.write(word);
  (void)exchange.end();
}

void add_routes(Router& router) {
  router.add({"GET", "/hello/{name}", say_hello});
  router.add({"POST", "/echo", echo});
  router.add({"GET", "/count", count_in_chunks});
  router.add({"POST", "/ignore", [](Exchange& exchange) { (void)exchange.respond(200, {}, "ignored"); }});
  router.add({"GET", "/nothing", [](Exchange& exchange) { (void)exchange.respond(204, {}, ""); }});
  router.add({"GET", "/silent", [](Exchange&) {}});
  router.add({"GET", "/throw", [](Exchange&) { throw std::runtime_error("thrown"); }});
  router.add({"GET", "/throw-late", [](Exchange& exchange) {
                (void)exchange.begin(200, {}, std::nullopt);
                (void)exchange.write("part");
                throw 1;
              }});
  router.add({"GET", "/known", [](Exchange& exchange) {
                (void)exchange.begin(200, {}, 6);
                (void)exchange.write("abc");
                (void)exchange.write("def");
                (void)exchange.end();
              }});
  router.add({"GET", "/short", [](Exchange& exchange) {
                (void)exchange.begin(200, {}, 6);
                (void)exchange.write("abc");
                EXPECT_FALSE(exchange.end());
              }});
}

std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers +
         "\r\n" + body;
}

TEST(Server, AnswersOverUnixAndTcp) {
  TestServer server(add_routes);
  for (auto client : {0, 1}) {
    Client peer = client ? Client::tcp(server) : Client::local(server);
    Reply reply = peer.get("/hello/you%2Fme");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "hello you/me");
    EXPECT_EQ(reply.headers["content-type"], "text/plain");
    EXPECT_THAT(reply.headers["date"], HasSubstr("GMT"));
  }
}

TEST(Server, KnowsItsPeers) {
  Peer seen;
  TestServer server([&](Router& router) {
    router.add({"GET", "/", [&](Exchange& exchange) {
                  seen = exchange.request().peer;
                  (void)exchange.respond(204, {}, "");
                }});
  });
  EXPECT_EQ(Client::local(server).get("/").status, 204);
  EXPECT_TRUE(seen.local);
  EXPECT_EQ(seen.uid, ::getuid());
  EXPECT_EQ(seen.pid, ::getpid());
  EXPECT_EQ(Client::tcp(server).get("/").status, 204);
  EXPECT_FALSE(seen.local);
  EXPECT_THAT(seen.address, HasSubstr("127.0.0.1:"));
  EXPECT_FALSE(seen.encrypted);
}

TEST(Server, KeepsConnections) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.get("/hello/" + std::to_string(i)).body, "hello " + std::to_string(i));
  EXPECT_EQ(client.ask(post("/echo", "x")).body, "[x]");
  EXPECT_EQ(client.get("/count").body, "onetwothree");
  EXPECT_EQ(client.get("/known").body, "abcdef");
  EXPECT_EQ(client.get("/nothing").status, 204);
  Reply last = client.ask("GET /hello/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(last.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += post("/echo", std::to_string(i)) + "GET /hello/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(client.receive().body, "[" + std::to_string(i) + "]");
    ASSERT_EQ(client.receive().body, "hello " + std::to_string(i));
  }
}

TEST(Server, TakesAnEmptyLineInTwoPieces) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  client.send("\r");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  client.send("\nGET /hello/you HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().body, "hello you");
}

TEST(Server, TakesRequestsInTinyPieces) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  std::string request = "\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (char byte : request + request) client.send({&byte, 1});
  EXPECT_EQ(client.receive().body, "[abc]");
  EXPECT_EQ(client.receive().body, "[abc]");
}

TEST(Server, TakesChunkedBodies) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  std::string start = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(start + "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n").body, "[hello world]");
  EXPECT_EQ(client.ask(start + "0\r\n\r\n").body, "[]");
  std::string big(300'000, 'x');
  EXPECT_EQ(client.ask(start + "493e0\r\n" + big + "\r\n0\r\n\r\n").body, "[" + big + "]");
}

TEST(Server, MalformedChunksEndTheConnection) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  Reply reply =
      client.ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST(Server, BodiesHaveALimit) {
  TestServer server(add_routes);
  std::string big(8 << 20, 'x');
  Client known = Client::tcp(server);
  known.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n");
  EXPECT_EQ(known.receive().status, 413);
  Client chunked = Client::tcp(server);
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800000\r\n" + big);
  EXPECT_EQ(chunked.receive().status, 413);
  EXPECT_TRUE(chunked.ends());
}

TEST(Server, AsksForABodyThatIsHeldBack) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("abc");
  EXPECT_EQ(client.receive().body, "[abc]");
  EXPECT_EQ(client.get("/hello/x").status, 200);
}

TEST(Server, DoesNotAskForABodyThatIsNotWanted) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  client.send("POST /ignore HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  Reply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST(Server, DoesNotAskForABodyThatIsThere) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  EXPECT_EQ(client.ask(post("/echo", "abc", "Expect: 100-continue\r\n")).body, "[abc]");
}

TEST(Server, SkipsShortBodiesThatNobodyRead) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  EXPECT_EQ(client.ask(post("/ignore", std::string(900'000, 'x'))).body, "ignored");
  EXPECT_EQ(client.get("/hello/x").body, "hello x");
  EXPECT_EQ(
      client.ask("POST /ignore HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").body,
      "ignored");
  EXPECT_EQ(client.get("/hello/x").body, "hello x");
}

TEST(Server, LongBodiesThatNobodyReadEndTheConnectionAfterTheAnswer) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  client.send("POST /ignore HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n" + std::string(3'000'000, 'x'));
  Reply reply = client.receive();
  EXPECT_EQ(reply.body, "ignored");
  EXPECT_EQ(reply.headers["connection"], "close");
}

TEST(Server, HeadHasTheHeadersOfGet) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  Reply reply = client.ask("HEAD /hello/x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers["content-length"], "7");
  EXPECT_EQ(client.ask("HEAD /count HTTP/1.1\r\nHost: x\r\n\r\n").headers["transfer-encoding"], "chunked");
  EXPECT_EQ(client.ask("HEAD /known HTTP/1.1\r\nHost: x\r\n\r\n").headers["content-length"], "6");
  EXPECT_EQ(client.get("/hello/x").body, "hello x");
}

TEST(Server, SpeaksHttp10) {
  TestServer server(add_routes);
  Client client = Client::tcp(server);
  Reply kept = client.ask("GET /hello/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.headers["connection"], "keep-alive");
  Reply streamed = client.ask("GET /count HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(streamed.body, "onetwothree");
  EXPECT_FALSE(streamed.headers.contains("transfer-encoding"));
  EXPECT_FALSE(streamed.headers.contains("content-length"));
  Client other = Client::tcp(server);
  EXPECT_EQ(other.ask("GET /hello/x HTTP/1.0\r\n\r\n").headers["connection"], "close");
  EXPECT_TRUE(other.ends());
}

TEST(Server, TellsProblems) {
  TestServer server(add_routes);
  Client client = Client::local(server);
  EXPECT_EQ(client.get("/nowhere").status, 404);
  Reply wrong = client.ask(post("/count", ""));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers["allow"], "GET, HEAD");
  EXPECT_EQ(client.get("/silent").status, 500);
  EXPECT_EQ(client.get("/throw").status, 500);
  EXPECT_EQ(client.get("/hello/x").status, 200);
}

TEST(Server, ProblemsAreTheListenersToTell) {
  std::vector<std::string> reasons;
  ListenerOptions options;
  options.problem = [&](Exchange& exchange, int status, const std::string& reason, const std::vector<std::string>&) {
    reasons.push_back(std::to_string(status) + " " + reason);
    if (status != 404) (void)exchange.respond(status, {{"X-Problem", "yes\r\nX-Split: no"}}, "");
  };
  TestServer server(add_routes, {}, options);
  Client client = Client::local(server);
  Reply thrown = client.get("/throw");
  EXPECT_EQ(thrown.headers["x-problem"], "yes  X-Split: no");
  EXPECT_FALSE(thrown.headers.contains("x-split"));
  EXPECT_EQ(client.get("/nowhere").status, 404);  // answered though the listener did not
  EXPECT_EQ(client.ask("GET /% HTTP/1.1\r\nHost: x\r\n\r\n").status, 400);
  EXPECT_THAT(reasons, ::testing::ElementsAre("500 thrown", "404 there is nothing here", HasSubstr("400 ")));
}

TEST(Server, AnswersThatAreNotWholeBreakOff) {
  TestServer server(add_routes);
  for (auto path : {"/throw-late", "/short"}) {
    Client client = Client::tcp(server);
    Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.whole) << path;
    EXPECT_TRUE(client.ends());
  }
}

TEST(Server, MalformedRequestsAreAnsweredAndEnd) {
  TestServer server(add_routes);
  struct Case {
    std::string request;
    int status;
  };
  for (auto& [request, status] : std::vector<Case>{
           {"nonsense\r\n\r\n", 400},
           {"GET / HTTP/3.0\r\n\r\n", 505},
           {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
           {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n", 501},
           {"GET /hello/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
           {"GET /hello/x?a=%0 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
           {"GET /hello/a%00b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
           {"GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
           {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(40'000, 'x') + "\r\n\r\n", 431},
       }) {
    Client client = Client::tcp(server);
    client.send(request + "GET /hello/smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    Reply reply = client.receive();
    EXPECT_EQ(reply.status, status) << request.substr(0, 80);
    EXPECT_EQ(reply.headers["connection"], "close");
    EXPECT_TRUE(client.ends()) << request.substr(0, 80);
  }
}

TEST(Server, TheGateComesFirst) {
  ListenerOptions options;
  options.gate = [](Exchange& exchange) {
    if (exchange.request().header("authorization")) return true;
    (void)exchange.respond(401, {{"WWW-Authenticate", "Bearer"}}, "");
    return false;
  };
  TestServer server(add_routes, {}, options);
  Client client = Client::local(server);
  EXPECT_EQ(client.get("/hello/x").status, 401);
  EXPECT_EQ(client.ask("GET /hello/x HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\n\r\n").status, 200);
}

TEST(Server, TellsWhatIsDone) {
  std::mutex mutex;
  std::vector<std::string> log;
  ListenerOptions options;
  options.done = [&](const Request& request, const Route* route, int status, std::chrono::nanoseconds) {
    std::lock_guard lock(mutex);
    log.push_back(request.method + " " + (route ? route->pattern : "-") + " " + std::to_string(status));
  };
  TestServer server(add_routes, {}, options);
  Client client = Client::local(server);
  client.get("/hello/x");
  client.get("/nowhere");
  client.get("/throw");
  client.ask("GET /% HTTP/1.1\r\nHost: x\r\n\r\n");
  server->stop(milliseconds(1000));
  EXPECT_THAT(log, ::testing::ElementsAre("GET /hello/{name} 200", "GET - 404", "GET /throw 500", "GET - 400"));
}

TEST(Server, ListensLaterToo) {
  TestServer server(add_routes);
  auto routes = std::make_shared<Router>();
  routes->add({"GET", "/", [](Exchange& exchange) { (void)exchange.respond(200, {}, "later"); }});
  std::string path = server.folder().file("later");
  ASSERT_TRUE(server->listen(listen_unix_stream(path, 0600).value(), routes, {}));
  EXPECT_EQ(Client::local(path).get("/").body, "later");
}

TEST(Listen, TakesAPathOverOnlyFromTheDead) {
  testing::TempFolder folder;
  std::string path = folder.file("socket");
  auto first = listen_unix_stream(path, 0600);
  ASSERT_TRUE(first);
  auto second = listen_unix_stream(path, 0600);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::Exists);
  first->reset();
  EXPECT_TRUE(listen_unix_stream(path, 0600));
  auto folder_itself = listen_unix_stream(folder.path(), 0600);
  ASSERT_FALSE(folder_itself);
  EXPECT_EQ(folder_itself.error().code(), Code::Exists);
}

TEST(Listen, WantsAddressesAndFreePorts) {
  EXPECT_EQ(listen_tcp("example.org", 0).error().code(), Code::Invalid);
  UniqueFd socket = listen_tcp("localhost", 0).value();
  EXPECT_TRUE(listen_tcp("[::1]", 0) || ::access("/proc/net/if_inet6", F_OK) != 0);
}

}  // namespace
}  // namespace cove::http
