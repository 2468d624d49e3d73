#include "http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::http {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

void nothing(Exchange&) {}

Request request(const std::string& method, const std::string& path, Headers headers = {}) {
  Request request;
  request.method = method;
  request.path = path;
  request.headers = std::move(headers);
  return request;
}

std::string pattern_of(const Router& router, const Request& request) {
  auto found = router.match(request);
  auto* match = std::get_if<Router::Match>(&found);
  return match ? match->route->pattern : "";
}

std::map<std::string, std::string> captures_of(const Router& router, const Request& request) {
  auto found = router.match(request);
  auto* match = std::get_if<Router::Match>(&found);
  return match ? match->captures : std::map<std::string, std::string>();
}

TEST(Router, CapturesSegmentsDecoded) {
  Router router;
  router.add({"GET", "/v1/sandboxes/{id}/execs/{exec}", nothing});
  EXPECT_THAT(captures_of(router, request("GET", "/v1/sandboxes/a%2Fb/execs/c%20d")),
              UnorderedElementsAre(Pair("id", "a/b"), Pair("exec", "c d")));
  EXPECT_EQ(pattern_of(router, request("GET", "/v1/sandboxes/a/b/execs/c")), "");
  EXPECT_EQ(pattern_of(router, request("GET", "/v1/sandboxes//execs/c")), "");
  EXPECT_EQ(pattern_of(router, request("GET", "/v1/sandboxes/a/execs/c/")), "");
}

TEST(Router, CapturesTheRest) {
  Router router;
  router.add({"GET", "/files/{path...}", nothing});
  EXPECT_THAT(captures_of(router, request("GET", "/files/a/b%20c/")), ElementsAre(Pair("path", "a/b c/")));
  EXPECT_THAT(captures_of(router, request("GET", "/files/")), ElementsAre(Pair("path", "")));
  EXPECT_EQ(pattern_of(router, request("GET", "/files")), "");
}

TEST(Router, AStarIsNoPath) {
  Router router;
  router.add({"*", "/{rest...}", nothing});
  EXPECT_EQ(pattern_of(router, request("OPTIONS", "*")), "");
}

TEST(Router, FixedSegmentsWinOverCapturesWhateverTheOrder) {
  Router router;
  router.add({"GET", "/{rest...}", nothing});
  router.add({"GET", "/a/{x}", nothing});
  router.add({"GET", "/{x}/b", nothing});
  router.add({"GET", "/a/b", nothing});
  EXPECT_EQ(pattern_of(router, request("GET", "/a/b")), "/a/b");
  EXPECT_EQ(pattern_of(router, request("GET", "/a/%62")), "/a/b");
  EXPECT_EQ(pattern_of(router, request("GET", "/a/c")), "/a/{x}");
  EXPECT_EQ(pattern_of(router, request("GET", "/c/b")), "/{x}/b");
  EXPECT_EQ(pattern_of(router, request("GET", "/c/d")), "/{rest...}");
}

TEST(Router, TheFirstAddedWinsAmongEquals) {
  Router router;
  router.add({"GET", "/{x}/b", nothing, "", "", ""});
  router.add({"GET", "/{y}/b", nothing, "", "", ""});
  EXPECT_EQ(pattern_of(router, request("GET", "/a/b")), "/{x}/b");
}

TEST(Router, HostsComeBeforeNone) {
  Router router;
  router.add({"GET", "/a", nothing});
  router.add({"GET", "/{any}", nothing, "*.cove.localhost"});
  router.add({"GET", "/{exact}", nothing, "api.cove.localhost"});
  EXPECT_EQ(pattern_of(router, request("GET", "/a")), "/a");
  EXPECT_EQ(pattern_of(router, request("GET", "/a", {{"Host", "other:80"}})), "/a");
  EXPECT_EQ(pattern_of(router, request("GET", "/a", {{"Host", "API.cove.localhost:8080"}})), "/{exact}");
  EXPECT_THAT(captures_of(router, request("GET", "/a", {{"host", "49983-abc.cove.localhost:8080"}})),
              UnorderedElementsAre(Pair("any", "a"), Pair("host_label", "49983-abc")));
  EXPECT_EQ(pattern_of(router, request("GET", "/a", {{"Host", "x.y.cove.localhost"}})), "/a");
  EXPECT_EQ(pattern_of(router, request("GET", "/a", {{"Host", ".cove.localhost"}})), "/a");
  EXPECT_EQ(pattern_of(router, request("GET", "/b", {{"Host", "[::1]:80"}})), "");
}

TEST(Router, HeadersComeBeforeNone) {
  Router router;
  router.add({"POST", "/x", nothing, "", "", ""});
  router.add({"POST", "/{any}", nothing, "", "Connect-Version", ""});
  router.add({"POST", "/{one}", nothing, "", "Connect-Version", "1"});
  EXPECT_EQ(pattern_of(router, request("POST", "/x")), "/x");
  EXPECT_EQ(pattern_of(router, request("POST", "/x", {{"connect-version", "2"}})), "/{any}");
  EXPECT_EQ(pattern_of(router, request("POST", "/x", {{"connect-version", "1"}})), "/{one}");
}

TEST(Router, WrongMethodTellsTheAllowedOnes) {
  Router router;
  router.add({"PUT", "/a", nothing});
  router.add({"GET", "/{x}", nothing});
  router.add({"POST", "/b", nothing});
  auto found = router.match(request("DELETE", "/a"));
  ASSERT_TRUE(std::holds_alternative<Router::WrongMethod>(found));
  EXPECT_THAT(std::get<Router::WrongMethod>(found).allowed, ElementsAre("GET", "HEAD", "PUT"));
  EXPECT_TRUE(std::holds_alternative<Router::NoRoute>(router.match(request("GET", "/a/b"))));
}

TEST(Router, HeadFallsBackToGet) {
  Router router;
  router.add({"*", "/{rest...}", nothing});
  router.add({"GET", "/a", nothing});
  router.add({"GET", "/b", nothing});
  router.add({"HEAD", "/b", nothing});
  EXPECT_EQ(pattern_of(router, request("HEAD", "/a")), "/a");
  EXPECT_EQ(pattern_of(router, request("PUT", "/a")), "/{rest...}");
  auto found = router.match(request("HEAD", "/b"));
  EXPECT_EQ(std::get<Router::Match>(found).route->method, "HEAD");
}

}  // namespace
}  // namespace cove::http
