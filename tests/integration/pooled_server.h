#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "support/server.h"

namespace cove::test {

using nlohmann::json;

// A server with a pool of some size; without one where it is 0.
class PooledServer {
 public:
  explicit PooledServer(int size) : server_({"--pool-size", std::to_string(size)}) {}
  explicit PooledServer(std::vector<std::string> args) : server_(std::move(args)) {}

  bool running() const { return server_.running(); }
  HttpResponse call(const std::string& method, const std::string& target, const json& body = nullptr) const {
    return fetch(server_.socket(),
                 {method, target, {{"content-type", "application/json"}}, body.is_null() ? "" : body.dump()});
  }
  std::string make(const json& body = json::object()) const {
    HttpResponse response = call("POST", "/v1/sandboxes", body);
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json().value("id", "none");
  }
  json run(const std::string& id, const json& body) const {
    HttpResponse response = call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  HttpResponse put(const std::string& id, const std::string& path, const std::string& content) const {
    return fetch(server_.socket(), {"PUT", "/v1/sandboxes/" + id + "/files?parents=true&path=" + path, {}, content});
  }
  // In a fresh sandbox that is gone afterwards.
  json run_once(const json& body) const {
    std::string id = make();
    json result = run(id, body);
    EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204);
    return result;
  }
  long metric(const std::string& name) const {
    std::string text = call("GET", "/metrics").body;
    size_t at = text.find("\n" + name + " ");
    return at == text.npos ? -1 : std::atol(text.c_str() + at + name.size() + 2);
  }
  bool wait_for_ready(long count) const {
    for (int i = 0; i < 1000 && metric("cove_pool_ready") < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return metric("cove_pool_ready") >= count;
  }
  // From now on a sandbox for which nothing is said has an interpreter of this language in it, and so many are ready.
  bool expect_use(const std::string& language, long count) const {
    run_once({{"language", language}, {"code", ""}});
    return wait_for_ready(count);
  }
  const std::string& folder() const { return server_.folder(); }
  int stop() { return server_.stop(); }

 private:
  ServerUnderTest server_;
};

inline std::string text_of(const json& result) {
  return result.value("stdout", json::object()).value("text", "") +
         result.value("stderr", json::object()).value("text", "");
}

// What differs between any two sandboxes.
inline std::string without_names(std::string text) {
  text = std::regex_replace(text, std::regex("cove-[0-9a-f]{8}-"), "cove-MARK-");
  text = std::regex_replace(text, std::regex("e-[a-z0-9]{20}"), "GROUP");
  text = std::regex_replace(text, std::regex("[a-z0-9]{20}"), "ID");
  text = std::regex_replace(text, std::regex("localhost:[0-9]+"), "localhost:PORT");
  return std::regex_replace(text, std::regex("[A-Z][a-z]{2} +[0-9]+ [0-9]{2}:[0-9]{2}"), "TIME");
}

}  // namespace cove::test
