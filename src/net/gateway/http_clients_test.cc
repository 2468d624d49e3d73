// Real programs over an intercepted connection: each trusts the sandbox's authority in its own way, sends a
// placeholder, and gets it back from a server that was sent the value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/encoding.h"
#include "base/text.h"
#include "net/gateway/flow_testing.h"
#include "support/child.h"

namespace cove::net {
namespace {

using test::ChildOptions;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kValue = "ghp_9f3Kq7v1xZr71bTu8wQ2", kPlaceholder = "ghp_placeholder01234567x";

// As git frames lines: with their length in four hexadecimal digits.
std::string packet(const std::string& line) {
  char length[5];
  std::snprintf(length, sizeof length, "%04zx", line.size() + 4);
  return length + line;
}

class HttpClients : public ::testing::Test {
 protected:
  HttpClients()
      : origin_(
            [this](Wire& wire) {
              for (std::string head = wire.read_head(); !head.empty(); head = wire.read_head()) {
                std::lock_guard lock(mutex_);
                heads_ += head;
                wire.write(answer_(head));
              }
            },
            "localhost"),
        gateway_(HttpFlow::Inside::Tls, "localhost", TestGateway::kOwnPort) {
    gateway_.servers["localhost"] = origin_.port();
    gateway_.policy_.secrets = {{"TOKEN", kPlaceholder, kValue, {"localhost"}, {"authorization"}}};
    std::ofstream(bundle_) << gateway_.policy_.authority_certificate;
    gateway_.start();
    for (const char* other : {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
                              "NODE_EXTRA_CA_CERTS"})
      ::unsetenv(other);
  }
  ~HttpClients() override { std::remove(bundle_.c_str()); }

  std::string url() const { return concat("https://localhost:", gateway_.port(), "/"); }
  // The program's output; with the bundle in that variable of its environment.
  std::string run(const std::vector<std::string>& command, const std::string& variable, std::string input = "") {
    ChildOptions options;
    options.input = std::move(input);
    for (const char* proxy : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
      options.env.push_back(concat(proxy, "="));
    options.env.push_back("NO_PROXY=localhost");
    options.env.push_back("GIT_TERMINAL_PROMPT=0");
    if (!variable.empty()) options.env.push_back(concat(variable, "=", bundle_));
    const test::Outcome outcome = test::run(command, options);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << ": " << outcome.err;
    return outcome.out;
  }
  void expect_brokered(const std::string& output, const std::string& header_value = concat("Bearer ", kValue)) {
    std::lock_guard lock(mutex_);
    EXPECT_THAT(heads_, HasSubstr(header_value));
    EXPECT_THAT(output, HasSubstr(kPlaceholder));
    EXPECT_THAT(output, Not(HasSubstr(kValue)));
    for (const auto& [target, failure] : gateway_.failures()) ADD_FAILURE() << failure.why;
  }

  const std::string bundle_ = ::testing::TempDir() + "/authority-" + std::to_string(::getpid()) + ".pem";
  std::mutex mutex_;
  std::string heads_;
  std::function<std::string(const std::string&)> answer_ = [](const std::string& head) { return with_body(head); };
  Origin origin_;
  TestGateway gateway_;
};

const std::string kBearer = concat("Authorization: Bearer ", kPlaceholder);

TEST_F(HttpClients, Curl) {
  expect_brokered(run({"curl", "-sS", "--http2", "--compressed", "-H", kBearer, url()}, "CURL_CA_BUNDLE"));
}

TEST_F(HttpClients, CurlWithAnUpload) {
  expect_brokered(
      run({"curl", "-sS", "-H", kBearer, "-d", "x=1", url(), "--next", "-sS", "-H", kBearer, url()}, "SSL_CERT_FILE"));
}

TEST_F(HttpClients, Wget) {
  expect_brokered(run({"wget", "-q", "-O", "-", "--header", kBearer, "--ca-certificate", bundle_, url()}, ""));
}

TEST_F(HttpClients, PythonsStandardLibrary) {
  const std::string code = concat("import urllib.request as u, sys\n",
                                  "print(u.urlopen(u.Request(sys.argv[1], headers={'Authorization': 'Bearer ",
                                  kPlaceholder, "'})).read().decode())");
  expect_brokered(run({"/usr/bin/python3", "-c", code, url()}, "SSL_CERT_FILE"));
}

TEST_F(HttpClients, PythonRequests) {
  const std::string code =
      concat("import requests, sys\ns = requests.Session()\nfor i in range(3):\n",
             "  print(s.get(sys.argv[1], headers={'Authorization': 'Bearer ", kPlaceholder, "'}).text)");
  expect_brokered(run({"/usr/bin/python3", "-c", code, url()}, "REQUESTS_CA_BUNDLE"));
}

TEST_F(HttpClients, NodesFetch) {
  const std::string code =
      concat("fetch(process.argv[1], {method: 'POST', body: 'x', headers: {authorization: 'Bearer ", kPlaceholder,
             "'}}).then(a => a.text()).then(console.log)");
  // Its server does not take the body off: the connection ends with the answer.
  answer_ = [](const std::string& head) {
    return concat("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ", head.size(), "\r\n\r\n", head);
  };
  expect_brokered(run({"node", "-e", code, url()}, "NODE_EXTRA_CA_CERTS"));
}

TEST_F(HttpClients, OpensslsOwn) {
  const std::string request =
      concat("GET / HTTP/1.1\r\nHost: localhost:", gateway_.port(), "\r\nConnection: close\r\n", kBearer, "\r\n\r\n");
  expect_brokered(run({"openssl", "s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost",
                       "-CAfile", bundle_, "-connect", concat("localhost:", gateway_.port())},
                      "", request));
}

// git asks without credentials first, then sends them as Basic.
TEST_F(HttpClients, GitOverHttps) {
  const std::string id = "1111111111111111111111111111111111111111";
  answer_ = [&](const std::string& head) -> std::string {
    if (head.find("Authorization: Basic ") == std::string::npos)
      return "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n";
    std::string ref = concat(id, " refs/heads/main", '\0', "agent=x\n");
    const std::string body = concat(packet("# service=git-upload-pack\n"), "0000", packet(ref), "0000");
    return with_body(body, "Content-Type: application/x-git-upload-pack-advertisement\r\n");
  };
  const std::string out =
      run({"git", "-c", "credential.helper=", "ls-remote",
           concat("https://x-access-token:", kPlaceholder, "@localhost:", gateway_.port(), "/r.git")},
          "GIT_SSL_CAINFO");
  std::lock_guard lock(mutex_);
  EXPECT_THAT(heads_, HasSubstr(concat("Authorization: Basic ", to_base64(concat("x-access-token:", kValue)))));
  EXPECT_THAT(out, HasSubstr(id));
}

}  // namespace
}  // namespace cove::net
