#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/server.h"

namespace cove::test {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// A server for all tests of a suite, and the calls that they make.
class Server : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerUnderTest(); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override { ASSERT_TRUE(server_->running()) << server_->said(); }
  void TearDown() override {
    for (const std::string& id : made_) call("DELETE", "/v1/sandboxes/" + id);
  }

  static const Endpoint& socket() { return server_->socket(); }
  static const Endpoint& tcp() { return server_->tcp(); }

  static HttpResponse call(const std::string& method, const std::string& target, const std::string& body = "",
                           HeaderMap headers = {}) {
    return fetch(socket(), {method, target, std::move(headers), body});
  }
  static HttpResponse post(const std::string& target, const json& body) {
    return call("POST", target, body.dump(), {{"content-type", "application/json"}});
  }
  static HttpResponse over_tcp(const std::string& method, const std::string& target, HeaderMap headers,
                               const std::string& body = "") {
    return fetch(tcp(), {method, target, std::move(headers), body});
  }
  static HeaderMap bearer(const std::string& secret) { return {{"authorization", "Bearer " + secret}}; }

  // A sandbox, gone after the test; the path of it.
  std::string make(const json& body = json::object()) {
    HttpResponse response = post("/v1/sandboxes", body);
    EXPECT_EQ(response.status, 201) << response.body;
    std::string id = response.json().value("id", "none");
    made_.push_back(id);
    return "/v1/sandboxes/" + id;
  }

  static json run(const std::string& sandbox, const json& body) {
    HttpResponse response = post(sandbox + "/execs?wait=true", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  // An exec that goes on by itself; the path of it.
  static std::string start(const std::string& sandbox, const json& body) {
    HttpResponse response = post(sandbox + "/execs", body);
    EXPECT_EQ(response.status, 201) << response.body;
    return response.headers["location"];
  }
  static std::string make_key(const std::vector<std::string>& scopes) {
    return post("/v1/keys", {{"name", "test"}, {"scopes", scopes}}).json().value("key", "");
  }

  static inline ServerUnderTest* server_ = nullptr;
  std::vector<std::string> made_;
};

inline void expect_problem(const HttpResponse& response, int status, const std::string& code) {
  EXPECT_EQ(response.status, status) << response.body;
  auto type = response.headers.find("content-type");
  EXPECT_TRUE(type != response.headers.end() && type->second == "application/problem+json");
  json problem = response.json();
  ASSERT_TRUE(problem.is_object()) << response.body;
  EXPECT_EQ(problem["code"], code) << response.body;
  EXPECT_EQ(problem["status"], status);
  EXPECT_EQ(problem["type"], "about:blank");
  EXPECT_NE(problem["detail"], "");
}

}  // namespace cove::test
