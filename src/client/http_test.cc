#include "client/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "client/body.h"
#include "client/server.h"
#include "client/target.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A connection whose other side has said `text` and then ended.
struct Said {
  explicit Said(const std::string& text) : pair(*sys::socketpair(SOCK_STREAM)), connection(std::move(pair.first)) {
    EXPECT_TRUE(sys::write_all(pair.second.get(), text));
    ::shutdown(pair.second.get(), SHUT_WR);
  }
  sys::SocketPair pair;
  Connection connection;
};

Result<std::string> read_body(const std::string& text, Framing framing) {
  Said said(text);
  Body body(said.connection, framing);
  return body.read_all(1 << 20);
}

Result<std::string> read_chunked(const std::string& text) { return read_body(text, {Framing::Kind::Chunked, 0}); }

TEST(Body, EndsWhereItsLengthSays) {
  EXPECT_EQ(*read_body("hello, and more", {Framing::Kind::Length, 5}), "hello");
  EXPECT_EQ(*read_body("", {Framing::Kind::Length, 0}), "");
  EXPECT_EQ(*read_body("all of it", {Framing::Kind::UntilClose, 0}), "all of it");
  EXPECT_THAT(read_body("hel", {Framing::Kind::Length, 5}).error().message(), HasSubstr("broke off"));
}

TEST(Body, IsPutTogetherOfChunks) {
  EXPECT_EQ(*read_chunked("5\r\nhello\r\n1;x\r\n,\r\n0\r\n\r\n"), "hello,");
  EXPECT_EQ(*read_chunked("0\r\nTrailer: x\r\n\r\n"), "");
}

TEST(Body, RefusesMalformedChunks) {
  for (const char* text : {"", "5\r\nhel", "5\r\nhello", "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhello\r\n", "x\r\n",
                           "-1\r\n", "5\nhello\n0\n\n", "0\r\n", "0\r\nTrailer: x\r\n"})
    EXPECT_FALSE(read_chunked(text)) << text;
  EXPECT_FALSE(read_chunked(std::string(20000, '1')));
  EXPECT_FALSE(read_chunked(std::string(200, 'a') + "\r\n"));
}

TEST(Body, IsNotReadBeyondWhatIsWanted) {
  Said said("123456");
  Body body(said.connection, {Framing::Kind::Length, 6});
  EXPECT_EQ(body.read_all(5).error().code(), Code::Exhausted);
}

// A server that gives one text for each connection, and keeps what it was sent.
class OneAnswer {
 public:
  explicit OneAnswer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    char folder[] = "/tmp/cove-http-XXXXXX";
    folder_ = ::mkdtemp(folder);
    address_ = {Address::Kind::Unix, folder_ + "/sock", "", 0};
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un place = {};
    place.sun_family = AF_UNIX;
    address_.path.copy(place.sun_path, sizeof place.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswer() {
    thread_.join();
    EXPECT_TRUE(sys::remove_tree(folder_));
  }
  Http http(Identity identity = {}) const { return Http(address_, std::move(identity)); }
  const std::string& asked() const { return asked_; }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      while (asked_.find("\r\n\r\n") == std::string::npos) {
        char data[4096];
        ssize_t count = ::read(connection.get(), data, sizeof data);
        if (count <= 0) break;
        asked_.append(data, static_cast<size_t>(count));
      }
      EXPECT_TRUE(sys::write_all(connection.get(), answer));
    }
  }

  std::vector<std::string> answers_;
  std::string folder_;
  Address address_;
  UniqueFd listener_;
  std::string asked_;
  std::thread thread_;
};

Request get(const std::string& target) {
  Request request;
  request.target = target;
  return request;
}

TEST(Http, SendsWhoAsks) {
  OneAnswer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  Http http = server.http({"cove_key", "mine"});
  auto response = http.fetch(get("/x"));
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "ok");
  EXPECT_THAT(server.asked(), StartsWith("GET /x HTTP/1.1\r\nHost: localhost\r\n"));
  EXPECT_THAT(server.asked(), HasSubstr("\r\nAuthorization: Bearer cove_key\r\n"));
  EXPECT_THAT(server.asked(), HasSubstr("\r\nCove-Project: mine\r\n"));
}

TEST(Http, PassesOverAnnouncements) {
  OneAnswer server({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  EXPECT_EQ(server.http().fetch(get("/"))->body, "ok");
}

TEST(Http, TurnsProblemsIntoErrors) {
  std::string problem =
      R"({"type":"about:blank","title":"T","status":409,"detail":"it is paused","code":"conflict","hint":"resume it"})";
  OneAnswer server({"HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: " +
                    std::to_string(problem.size()) + "\r\n\r\n" + problem});
  auto response = server.http().fetch(get("/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Conflict);
  EXPECT_EQ(response.error().message(), "it is paused");
  EXPECT_EQ(response.error().hint(), "resume it");
}

TEST(Http, TellsWhenToTryAgain) {
  OneAnswer server({"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"});
  auto response = server.http().fetch(get("/"));
  EXPECT_EQ(response.error().code(), Code::Exhausted);
  EXPECT_EQ(response.error().hint(), "try again in 7 seconds");
}

TEST(Http, SaysSoWhereTheOtherSideIsNoServer) {
  for (const char* answer : {"", "hello\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"}) {
    OneAnswer server({answer});
    EXPECT_FALSE(server.http().fetch(get("/"))) << answer;
  }
}

TEST(Http, IsUnavailableWhereNobodyListens) {
  Http http({Address::Kind::Unix, "/tmp/no-such-cove.sock", "", 0}, {});
  EXPECT_EQ(http.fetch(get("/")).error().code(), Code::Unavailable);
}

TEST(Http, WaitsNoLongerThanItIsToldTo) {
  sys::SocketPair pair = *sys::socketpair(SOCK_STREAM);
  Connection connection(std::move(pair.first));
  connection.set_patience(std::chrono::milliseconds(10));
  EXPECT_EQ(connection.fill().error().code(), Code::Unavailable);
}

TEST(BodyWriter, MakesChunks) {
  sys::SocketPair pair = *sys::socketpair(SOCK_STREAM);
  Connection connection(std::move(pair.first));
  uint64_t told = 0;
  Progress progress = [&](uint64_t bytes) { told += bytes; };
  BodyWriter writer(connection, Framing::Kind::Chunked, progress);
  ASSERT_TRUE(writer.write("hello"));
  ASSERT_TRUE(writer.write(""));
  ASSERT_TRUE(writer.end());
  char data[64];
  ssize_t count = ::read(pair.second.get(), data, sizeof data);
  EXPECT_EQ(std::string(data, static_cast<size_t>(count)), "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(told, 5u);
}

TEST(BodyWriter, StopsWhenTheServerHasAnswered) {
  Said said("HTTP/1.1 413 X\r\n\r\n");
  Progress none;
  BodyWriter writer(said.connection, Framing::Kind::Length, none);
  EXPECT_EQ(writer.write("data").error().code(), Code::Unavailable);
}

TEST(Address, IsAPathOrAHostAndPort) {
  EXPECT_EQ(parse_address("unix:/a/b")->path, "/a/b");
  EXPECT_EQ(parse_address("unix:///a/b")->path, "/a/b");
  EXPECT_EQ(parse_address("tcp:[::1]:80")->host, "::1");
  EXPECT_EQ(parse_address("tcp://127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(to_text(*parse_address("tcp:[::1]:80")), "tcp:[::1]:80");
  EXPECT_EQ(parse_address("https://host.example/")->port, 443);
  EXPECT_EQ(to_text(*parse_address("https://[::1]:7070")), "https://[::1]:7070");
  EXPECT_EQ(parse_address("https://[::1]")->host, "::1");
  for (const char* here : {"localhost", "127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(is_loopback(number_of(here))) << here;
  for (const char* away :
       {"10.0.0.1", "fe80::1", "host.invalid", "0.0.0.0", "::", "::ffff:127.0.0.1", "127.1", "0x7f.1"})
    EXPECT_FALSE(is_loopback(away)) << away;
  for (const char* bad : {"", "/a", "unix:", "unix:a", "tcp:", "tcp:host", "tcp:host:", "tcp:host:0", "tcp::80",
                          "tcp:h:99999", "ftp:h:1", "https://", "https://h:0", "https://h/path"})
    EXPECT_EQ(parse_address(bad).error().code(), Code::Invalid) << bad;
}

TEST(Address, RefusesWhatUrlsHaveElse) {
  for (const char* bad : {"https://h?x",    "https://h#x",      "https://h:1?x",       "https://h:1//",
                          "https:///h",     "https://h:",       "https://h:+1",        "https://h:1 ",
                          "https://h h:1",  "https://::1",      "https://::1:443",     "https://[::1",
                          "https://[::1]x", "https://[::1]443", "https://[h]:1",       "https://[127.0.0.1]:1",
                          "https://[]:1",   "https://[::1%]:1", "https://[::1%a/b]:1", "https://h\r\nx:1",
                          "https://h%41:1", "http://h"})
    EXPECT_EQ(parse_address(bad).error().code(), Code::Invalid) << bad;
}

TEST(Address, DoesNotRepeatWhatMayBeAKey) {
  for (const char* bad : {"https://cove_secret@h:1", "https://me:cove_secret@h", "http://cove_secret@127.0.0.1:1"}) {
    Error error = parse_address(bad).error();
    EXPECT_EQ(error.message().find("cove_secret"), std::string::npos) << error.message();
    EXPECT_THAT(error.hint(), HasSubstr("COVE_API_KEY"));
  }
}

TEST(Address, MayHaveAZone) {
  for (const char* text :
       {"https://[fe80::1%eth0]:7070", "https://[fe80::1%25eth0]:7070", "HTTPS://[fe80::1%eth0]:7070/"}) {
    Address address = *parse_address(text);
    EXPECT_EQ(address.host, "fe80::1%eth0");
    EXPECT_EQ(to_text(address), "https://[fe80::1%eth0]:7070");
    EXPECT_EQ(authority_of(address), "[fe80::1]:7070");
  }
}

TEST(Http, SendsNothingInClearToOtherMachines) {
  for (const char* away :
       {"http://192.0.2.1:7070", "http://host.invalid:80", "http://[2001:db8::1]:80", "tcp:0.0.0.0:1"}) {
    Http http(*parse_address(away), {"cove_key", ""});
    Error error = http.fetch(get("/")).error();
    EXPECT_EQ(error.code(), Code::Denied) << away;
    EXPECT_THAT(error.message(), HasSubstr("not be encrypted"));
    EXPECT_THAT(error.hint(), HasSubstr("https://"));
  }
}

TEST(Http, DoesNotFollowRedirects) {
  OneAnswer server({"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://192.0.2.1/x\r\nContent-Length: 0\r\n\r\n"});
  Error error = server.http({"cove_key", ""}).fetch(get("/")).error();
  EXPECT_EQ(error.code(), Code::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("http://192.0.2.1/x"));
}

TEST(Version, IsComparedByNumbers) {
  EXPECT_TRUE(is_older("0.9.2", "0.10.0"));
  EXPECT_TRUE(is_older("0.9", "0.9.1"));
  EXPECT_TRUE(is_older("x", "0.1"));
  EXPECT_FALSE(is_older("0.1.0", "0.1.0"));
  EXPECT_FALSE(is_older("1.0", "0.9.9"));
}

TEST(Target, EncodesWhatIsNotPlain) {
  EXPECT_EQ(Target("/v1").part("a/b").query("path", "/x y&z").query("none", "").query("q", "ä").text(),
            "/v1/a%2Fb?path=%2Fx%20y%26z&q=%C3%A4");
}

}  // namespace
}  // namespace cove::client
