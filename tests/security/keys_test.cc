// What a key does not open.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>

#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

// A port of the loopback at which nobody is expected.
class Trap {
 public:
  Trap() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    socklen_t size = sizeof place;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
  }
  std::string at(const std::string& host) const { return host + ":" + std::to_string(port_); }
  // Whether somebody has connected.
  bool sprung() const { return UniqueFd(::accept(socket_.get(), nullptr, nullptr)).get() >= 0; }

 private:
  UniqueFd socket_;
  uint16_t port_ = 0;
};

class KeyAccess : public Server {
 protected:
  static void SetUpTestSuite() { server_ = new ServerUnderTest(); }
  void SetUp() override {
    COVE_NEEDS_ROOT();
    Server::SetUp();
  }
  HttpResponse with_key(const std::string& scope, const std::string& method, const std::string& target,
                        const json& body = nullptr) {
    return over_tcp(method, target, bearer(make_key({scope})), body.is_null() ? "" : body.dump());
  }
};

TEST_F(KeyAccess, AKeyIsNotTakenFromTheAddress) {
  std::string sandbox = make();
  std::string key = make_key({"admin"});
  expect_problem(over_tcp("GET", sandbox + "?token=" + key, {}), 401, "unauthorized");
  expect_problem(over_tcp("GET", sandbox + "/entries?path=/&token=" + key, {}), 401, "unauthorized");
  json token = post(sandbox + "/tokens", {{"scopes", {"read"}}}).json();
  EXPECT_EQ(over_tcp("GET", sandbox + "/entries?path=/&token=" + token["token"].get<std::string>(), {}).status, 200);
}

TEST_F(KeyAccess, MetricsAreTheAdministrators) {
  expect_problem(with_key("read", "GET", "/metrics"), 403, "denied");
  expect_problem(with_key("run", "GET", "/metrics"), 403, "denied");
  EXPECT_EQ(with_key("admin", "GET", "/metrics").status, 200);
  EXPECT_EQ(call("GET", "/metrics").status, 200);
}

TEST_F(KeyAccess, NestingIsTheAdministrators) {
  const json body = {{"nesting", true}, {"start", false}};
  expect_problem(with_key("run", "POST", "/v1/sandboxes", body), 403, "denied");
  HttpResponse made = with_key("admin", "POST", "/v1/sandboxes", body);
  EXPECT_EQ(made.status, 201) << made.body;
  call("DELETE", "/v1/sandboxes/" + made.json().value("id", ""));
}

TEST_F(KeyAccess, ImagesAreNotPulledFromThisMachineOrAPrivateNetwork) {
  Trap trap;
  for (const char* host : {"127.0.0.1", "localhost", "127.1.2.3"}) {
    HttpResponse refused =
        with_key("manage", "POST", "/v1/images?wait=true", {{"reference", trap.at(host) + "/secret:1"}});
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("images.private_registries"));
  }
  EXPECT_FALSE(trap.sprung());
}

TEST(KeyMaxima, AreHeldForCallersWithKeysOnly) {
  COVE_NEEDS_ROOT();
  ServerUnderTest server({"--set", "maxima.memory=3g", "--set", "maxima.cpus=1", "--set", "maxima.processes=2000"});
  ASSERT_TRUE(server.running()) << server.said();
  auto local = [&](const std::string& method, const std::string& target, const json& body) {
    return fetch(server.socket(), {method, target, {}, body.is_null() ? "" : body.dump()});
  };
  const std::string key = local("POST", "/v1/keys", {{"name", "k"}, {"scopes", {"admin"}}}).json().value("key", "none");
  auto remote = [&](const std::string& method, const std::string& target, const json& body) {
    return fetch(server.tcp(), {method, target, {{"authorization", "Bearer " + key}}, body.dump()});
  };
  for (const json& limits : {json({{"memory", "4g"}}), json({{"cpus", 1.5}}), json({{"processes", 2001}})}) {
    HttpResponse refused = remote("POST", "/v1/sandboxes", {{"limits", limits}, {"start", false}});
    expect_problem(refused, 403, "denied");
    EXPECT_THAT(refused.json()["hint"], HasSubstr("maxima."));
    expect_problem(remote("POST", "/v1/sessions", {{"limits", limits}}), 403, "denied");
    EXPECT_EQ(remote("POST", "/v1/execute", {{"shell", "true"}, {"limits", limits}}).status, 403);
  }
  HttpResponse made = remote("POST", "/v1/sandboxes", {{"limits", {{"memory", "3g"}, {"cpus", 1}}}, {"start", false}});
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string sandbox = "/v1/sandboxes/" + made.json().value("id", "");
  expect_problem(remote("PATCH", sandbox, {{"limits", {{"memory", "4g"}}}}), 403, "denied");
  EXPECT_EQ(local("PATCH", sandbox, {{"limits", {{"memory", "4g"}}}}).status, 200);
}

// Root's key is root's alone; coved is another user.
TEST(TlsKey, OfRootNeedNotBeReadableByOthers) {
  COVE_NEEDS_ROOT();
  std::string folder = "/tmp/cove-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string key = folder + "/key.pem", certificate = folder + "/cert.pem";
  Outcome made = test::run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                            "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", key, "-out", certificate});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const std::string& file : {key, certificate}) ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  {
    ServerUnderTest server({"--tls-cert", certificate, "--tls-key", key});
    ASSERT_TRUE(server.running()) << server.said();
    const std::string script =
        "import ssl,urllib.request as u\n"
        "print(u.urlopen('https://127.0.0.1:" +
        std::to_string(server.tcp().port) + "/v1/health/live', context=ssl.create_default_context(cafile='" +
        certificate + "')).status)\n";
    Outcome asked = test::run({"python3", "-c", script});
    EXPECT_EQ(asked.out, "200\n") << asked.err;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(KeyAccess, WithoutAKeyTheHintNamesWhereTheCommandLineTakesIt) {
  HttpResponse refused = over_tcp("GET", "/v1/sandboxes", {});
  expect_problem(refused, 401, "unauthorized");
  EXPECT_THAT(refused.json()["hint"], HasSubstr("COVE_API_KEY"));
  ChildOptions options;
  options.env = {"COVE_HOST=tcp:127.0.0.1:" + std::to_string(tcp().port), "COVE_API_KEY="};
  EXPECT_THAT(cove({"ls"}, options).err, HasSubstr("COVE_API_KEY"));
}

}  // namespace
}  // namespace cove::test
