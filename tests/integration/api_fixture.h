#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "support/child.h"
#include "support/server.h"

namespace cove::test {

using nlohmann::json;

inline void expect_refusal(const HttpResponse& response, int status, const std::string& code) {
  EXPECT_EQ(response.status, status) << response.body;
  json problem = response.json();
  ASSERT_TRUE(problem.is_object()) << response.body;
  EXPECT_EQ(problem.value("code", ""), code) << response.body;
}

// A server for all tests of a suite, and the calls they make. Where a test breaks it, the next has another.
template <typename Suite>
class WithServer : public testing::Test {
 protected:
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    COVE_NEEDS_ROOT();
    if (!server_ || !server_->running()) server_ = std::make_unique<ServerUnderTest>(Suite::arguments());
    ASSERT_TRUE(server_->running()) << server_->said();
  }

  static HttpResponse call(const std::string& method, const std::string& target, const json& body = nullptr,
                           HeaderMap headers = {}) {
    return fetch(server_->socket(), {method, target, std::move(headers), body.is_null() ? "" : body.dump()});
  }
  static HttpResponse post(const std::string& target, const json& body) { return call("POST", target, body); }
  static HttpResponse over_tcp(const std::string& target, const json& body) {
    static std::pair<const ServerUnderTest*, std::string> key;
    if (key.first != server_.get())
      key = {server_.get(), post("/v1/keys", {{"name", "t"}, {"scopes", {"run"}}}).json().value("key", "")};
    return fetch(server_->tcp(), {"POST", target, {{"authorization", "Bearer " + key.second}}, body.dump()});
  }

  // The id of a new session.
  static std::string start(const json& body = json::object()) {
    HttpResponse response = post("/v1/sessions", body);
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json().value("id", "none");
  }
  static HttpResponse try_in(const std::string& session, const json& body) {
    return post("/v1/sessions/" + session + "/execs?wait=true", body);
  }
  static json run_in(const std::string& session, const json& body) {
    HttpResponse response = try_in(session, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  static std::string text_in(const std::string& session, const std::string& shell) {
    json result = run_in(session, {{"shell", shell}});
    return result.contains("stdout") ? result["stdout"].value("text", "") : result.dump();
  }
  static json session(const std::string& id) { return call("GET", "/v1/sessions/" + id).json(); }
  static json execute(const json& body) {
    HttpResponse response = post("/v1/execute", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  static size_t count_sandboxes(const std::string& query = "") {
    json list = call("GET", "/v1/sandboxes?limit=1000" + query).json();
    return list.is_object() && list.contains("items") ? list["items"].size() : 999;
  }
  static void remove_all() {
    for (const std::string kind : {"sessions", "sandboxes"}) {
      json list = call("GET", "/v1/" + kind + "?limit=1000" + (kind == "sessions" ? "&state=active" : "")).json();
      for (const json& each : list["items"]) call("DELETE", "/v1/" + kind + "/" + each["id"].get<std::string>());
    }
  }
  static uint64_t last_event() {
    uint64_t last = 0;
    for (json page;
         page = call("GET", "/v1/events?limit=1000&after=" + std::to_string(last)).json(), !page["items"].empty();)
      last = page["last_seq"];
    return last;
  }
  // Of one kind.
  static std::vector<json> events_since(uint64_t seq, const std::string& kind) {
    std::vector<json> found;
    for (json page;
         page = call("GET", "/v1/events?limit=1000&after=" + std::to_string(seq)).json(), !page["items"].empty();
         seq = page["last_seq"])
      for (const json& event : page["items"])
        if (event["kind"] == kind) found.push_back(event);
    return found;
  }

  static inline std::unique_ptr<ServerUnderTest> server_;
};

}  // namespace cove::test
