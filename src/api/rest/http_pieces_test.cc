// Problems, ranges, events, hosts, parameters, paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "api/rest/conditions.h"
#include "api/rest/hosts.h"
#include "api/rest/paging.h"
#include "api/rest/place.h"
#include "api/rest/problem.h"
#include "api/rest/query.h"
#include "api/rest/range.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/log.h"

namespace cove::api {
namespace {

using testing::HasSubstr;

TEST(Problem, FollowsFromAnError) {
  struct Expected {
    Code code;
    int status;
    const char* name;
  };
  for (auto [code, status, name] :
       {Expected{Code::Invalid, 400, "invalid"}, Expected{Code::NotFound, 404, "not_found"},
        Expected{Code::Exists, 409, "exists"}, Expected{Code::Conflict, 409, "conflict"},
        Expected{Code::Denied, 403, "denied"}, Expected{Code::Unsupported, 422, "unsupported"},
        Expected{Code::Exhausted, 429, "exhausted"}, Expected{Code::Unavailable, 503, "unavailable"},
        Expected{Code::Internal, 500, "internal"}}) {
    Problem problem(Error(code, "what").hint("do this"));
    EXPECT_EQ(problem.status, status);
    EXPECT_EQ(problem.code, name);
    EXPECT_EQ(problem.detail, "what");
    EXPECT_EQ(problem.hint, "do this");
  }
}

TEST(Problem, IsADocument) {
  Json json = Json::parse(to_json(Problem(404, "not_found", "no \xff thing"))).value();
  EXPECT_EQ(json["type"], "about:blank");
  EXPECT_EQ(json["title"], "Not Found");
  EXPECT_EQ(json["status"], 404);
  EXPECT_EQ(json["code"], "not_found");
  for (const char* absent : {"hint", "pointer", "request_id"}) EXPECT_FALSE(json.contains(absent)) << absent;
  Json pointed = Json::parse(to_json(Problem(Error(Code::Invalid, "x").at("/a")), "r1")).value();
  EXPECT_EQ(pointed["pointer"], "/a");
  EXPECT_EQ(pointed["request_id"], "r1");
  EXPECT_EQ(Json::parse(to_json(Problem(400, "invalid", "x"), "", "error")).value()["type"], "error");
}

TEST(Problem, OfFilesKnowsTheCallersMistakes) {
  EXPECT_EQ(file_problem(Error::from_errno(EISDIR, "open")).status, 400);
  EXPECT_EQ(file_problem(Error::from_errno(ENOTEMPTY, "rmdir")).code, "conflict");
  EXPECT_EQ(file_problem(Error::from_errno(EACCES, "open")).status, 403);
  for (int full : {ENOSPC, EDQUOT}) {
    EXPECT_EQ(file_problem(Error::from_errno(full, "write")).status, 507);
    EXPECT_EQ(file_problem(Error::from_errno(full, "write")).code, "disk_full");
  }
  EXPECT_EQ(file_problem(Error::from_errno(EFBIG, "write")).status, 413);
  EXPECT_EQ(file_problem(Error::from_errno(ENOENT, "open")).status, 404);
}

TEST(Problem, OfBodiesTellsLongFromSlow) {
  EXPECT_EQ(body_problem(Error(Code::Exhausted, "long")).status, 413);
  EXPECT_EQ(body_problem(Error(Code::Unavailable, "slow")).status, 408);
  EXPECT_EQ(body_problem(Error(Code::Invalid, "chunk")).status, 400);
}

TEST(Range, IsWithinTheFile) {
  auto part = [](std::string_view header, uint64_t size) {
    RangeChoice choice = choose_range(header, size);
    EXPECT_EQ(choice.kind, RangeKind::Part) << header;
    return choice.range;
  };
  EXPECT_EQ(part("bytes=2-4", 10), (ByteRange{2, 3}));
  EXPECT_EQ(part("bytes=7-", 10), (ByteRange{7, 3}));
  EXPECT_EQ(part("bytes=-2", 10), (ByteRange{8, 2}));
  EXPECT_EQ(part("bytes=-20", 10), (ByteRange{0, 10}));
  EXPECT_EQ(part("bytes=5-100", 10), (ByteRange{5, 5}));
}

TEST(Range, MayBeUnsatisfied) {
  for (const char* header : {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999999-"})
    EXPECT_EQ(choose_range(header, 10).kind, RangeKind::Unsatisfied) << header;
  EXPECT_EQ(choose_range("bytes=0-", 0).kind, RangeKind::Unsatisfied);
  EXPECT_EQ(choose_range("bytes=-1", 0).kind, RangeKind::Unsatisfied);
}

TEST(Range, IsIgnoredWhereItMakesNoSense) {
  for (const char* header : {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=4-2", "lines=1-2", "bytes=0-1,3-4",
                             "bytes=1--2", "bytes=+1-2"})
    EXPECT_EQ(choose_range(header, 10).kind, RangeKind::Whole) << header;
}

TEST(Events, AreLines) {
  EXPECT_EQ(sse_event(7, "stdout", "{}"), "id: 7\nevent: stdout\ndata: {}\n\n");
  EXPECT_EQ(sse_event(std::nullopt, "ready", "{}"), "event: ready\ndata: {}\n\n");
}

TEST(Events, ResumeAfterTheLast) {
  http::Request request;
  EXPECT_EQ(last_event_id(request).value(), std::optional<uint64_t>());
  request.headers = {{"Last-Event-ID", "41"}};
  EXPECT_EQ(last_event_id(request).value(), std::optional<uint64_t>(41));
  request.headers = {{"Last-Event-ID", "-1"}};
  EXPECT_FALSE(last_event_id(request));
}

TEST(Output, IsTextWhereItCanBe) {
  Json text = {{"seq", 1}};
  add_data(text, "ü\n");
  EXPECT_EQ(dump(text), R"({"seq":1,"text":"ü\n"})");
  Json bytes = {{"seq", 2}};
  add_data(bytes, "\xc3");
  EXPECT_EQ(dump(bytes), R"({"seq":2,"base64":"ww=="})");
}

TEST(Documents, TakeReadyMadeJson) {
  EXPECT_EQ(dump_with(Json{{"a", 1}}, "b", "{\"c\":2}"), R"({"a":1,"b":{"c":2}})");
  EXPECT_EQ(dump_with(Json::object(), "b", "null"), R"({"b":null})");
  EXPECT_EQ(page_json({"{}", "{}"}, ""), R"({"items":[{},{}],"next":null})");
  EXPECT_EQ(page_json({}, "c"), R"({"items":[],"next":"c"})");
}

TEST(Paging, GoesOnBehindTheLastItem) {
  std::vector<PageItem> all = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  Json first = Json::parse(page_of(all, {}, 2)).value();
  EXPECT_EQ(first["items"], Json::array({1, 2}));
  PagePlace place = parse_page_cursor(first["next"].get<std::string>()).value();
  EXPECT_EQ(page_of(all, place, 2), R"({"items":[3],"next":null})");
  std::vector<PageItem> more = all, less = all;
  more.insert(more.begin(), {"0", "0"});
  EXPECT_EQ(page_of(more, place, 2), R"({"items":[3],"next":null})") << "one was added in front";
  less.erase(less.begin() + 1);
  EXPECT_EQ(page_of(less, place, 2), R"({"items":[3],"next":null})") << "the last one was removed";
  EXPECT_EQ(page_of({}, place, 2), R"({"items":[],"next":null})");
}

TEST(Paging, HasOpaqueCursorsThatNeedNoEscapes) {
  const std::string cursor = to_page_cursor({7, "c++ /x?\xff\xfe"});
  EXPECT_EQ(cursor, percent_encode(cursor));
  EXPECT_EQ(parse_page_cursor(cursor)->key, "c++ /x?\xff\xfe");
  for (const char* wrong : {"x", "12", "\xff", "MS4"}) EXPECT_FALSE(parse_page_cursor(wrong)) << wrong;
}

Hosts hosts_of(std::vector<std::string> hosts, std::vector<std::string> origins) {
  Config config;
  config.allowed_hosts = std::move(hosts);
  config.allowed_origins = std::move(origins);
  config.listen = {{.kind = ListenAddress::Kind::Tcp, .host = "192.168.0.7", .port = 1},
                   {.kind = ListenAddress::Kind::Tcp, .host = "fe80::1", .port = 1},
                   {.kind = ListenAddress::Kind::Tcp, .host = "0.0.0.0", .port = 1}};
  return Hosts(config);
}

TEST(Hosts, AreTheLoopbackAndThoseConfigured) {
  Hosts hosts = hosts_of({"cove.example.com", "*.example.org"}, {});
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "cove.example.com:443",
                           "a.example.org", "192.168.0.7:1", "[fe80::1]:1"})
    EXPECT_TRUE(hosts.allows_host(host)) << host;
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "example.org",
                           ".example.org", "xexample.org", "0.0.0.0:1", "::1"})
    EXPECT_FALSE(hosts.allows_host(host)) << host;
}

TEST(Hosts, KnowTheirOwnPagesAndThoseConfigured) {
  Hosts hosts = hosts_of({}, {"https://app.example"});
  EXPECT_TRUE(hosts.allows_origin("http://localhost:8080", "localhost:8080"));
  EXPECT_TRUE(hosts.allows_origin("https://APP.example", "localhost"));
  for (const char* origin : {"null", "", "http://evil.example", "http://localhost:9090", "https://app.example.evil"})
    EXPECT_FALSE(hosts.allows_origin(origin, "localhost:8080")) << origin;
}

TEST(Hosts, MindTheOriginOfWhatChangesSomething) {
  http::Request request;
  request.method = "GET";
  EXPECT_FALSE(Hosts::needs_origin(request));
  request.headers = {{"Upgrade", "websocket"}};
  EXPECT_TRUE(Hosts::needs_origin(request));
  request.headers.clear();
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "WHATEVER"}) {
    request.method = method;
    EXPECT_TRUE(Hosts::needs_origin(request)) << method;
  }
}

http::Request with_query(std::vector<std::pair<std::string, std::string>> query) {
  http::Request request;
  request.query = std::move(query);
  return request;
}

TEST(Parameters, AreChecked) {
  auto request = with_query({{"limit", "7"}, {"wait", "true"}, {"bad", "maybe"}, {"mode", "0755"}, {"path", ""}});
  EXPECT_EQ(limit_parameter(request), 7u);
  EXPECT_EQ(flag_parameter(request, "wait"), true);
  EXPECT_EQ(flag_parameter(request, "none"), false);
  EXPECT_FALSE(flag_parameter(request, "bad"));
  EXPECT_EQ(*mode_parameter(request), 0755u);
  EXPECT_FALSE(path_parameter(request));
  EXPECT_FALSE(path_parameter(with_query({})));
  EXPECT_FALSE(path_parameter(with_query({{"path", std::string(5000, 'a')}})));
  for (const char* limit : {"0", "1001", "ten", "-1", ""})
    EXPECT_FALSE(limit_parameter(with_query({{"limit", limit}})));
  for (const char* mode : {"9", "8", "rwx", "00644", ""}) EXPECT_FALSE(mode_parameter(with_query({{"mode", mode}})));
}

TEST(Accept, NamesATypeOrRulesItOut) {
  http::Request request;
  EXPECT_FALSE(accepts(request, kEventStream));
  EXPECT_FALSE(refuses(request, kEventStream));
  request.headers = {{"Accept", "*/*"}};
  EXPECT_FALSE(accepts(request, kEventStream));
  EXPECT_FALSE(refuses(request, kEventStream));
  request.headers = {{"Accept", "text/html, Text/Event-Stream;q=0.5"}};
  EXPECT_TRUE(accepts(request, kEventStream));
  request.headers = {{"Accept", "text/*"}};
  EXPECT_FALSE(refuses(request, kEventStream));
  request.headers = {{"Accept", "application/json"}};
  EXPECT_TRUE(refuses(request, kEventStream));
}

TEST(Paths, AreTidied) {
  EXPECT_EQ(tidy_path("//a/./b//"), "/a/b");
  EXPECT_EQ(tidy_path("/"), "/");
  EXPECT_EQ(tidy_path("a/../b"), "a/../b");
  EXPECT_EQ(tidy_path("./"), ".");
  EXPECT_EQ(folder_of("/a/b"), "/a");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(name_of("/a/b"), "b");
  EXPECT_EQ(name_of("/"), "/");
  EXPECT_EQ(mode_text(0100644), "0644");
}

TEST(Archives, StayInTheirFolder) {
  EXPECT_EQ(inner_path("./a/b/"), "a/b");
  EXPECT_EQ(inner_path("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(inner_path("."), "");
  for (const char* name : {"..", "a/../../b", "../x", "a/.."}) EXPECT_FALSE(inner_path(name)) << name;
}

TEST(Metrics, AreText) {
  Metrics metrics;
  metrics.count("GET", "/v1/x", 200, std::chrono::milliseconds(2));
  metrics.count("GET", "/v1/x", 200, std::chrono::seconds(60));
  std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("cove_http_requests_total{method=\"GET\",route=\"/v1/x\",status=\"200\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("cove_http_request_seconds_bucket{method=\"GET\",route=\"/v1/x\",le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("cove_http_request_seconds_bucket{method=\"GET\",route=\"/v1/x\",le=\"10\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("cove_http_request_seconds_bucket{method=\"GET\",route=\"/v1/x\",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("cove_http_request_seconds_count{method=\"GET\",route=\"/v1/x\"} 2\n"));
}

TEST(Encoding, IsExact) {
  for (const char* text : {"", "a", "ab", "abc", "\xff\xfe"}) EXPECT_EQ(from_base64(to_base64(text)), text);
  EXPECT_EQ(to_base64("hi"), "aGk=");
  for (const char* text : {"!", "aGk", "aGk==", "aG=k", "aGl=", "====", "aGk=\n"})
    EXPECT_FALSE(from_base64(text)) << text;
  EXPECT_TRUE(is_utf8("aü€😀"));
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) EXPECT_FALSE(is_utf8(text));
  EXPECT_EQ(format_time(1794782400123), "2026-11-15T22:40:00.123Z");
  EXPECT_EQ(percent_encode("a b/ü"), "a%20b%2F%C3%BC");
}

TEST(Log, CannotBeForged) {
  EXPECT_EQ(log::format(log::Level::Info, "request", {{"path", "/v1/x"}, {"who", "a b\n2026 error x=\"y\""}}),
            "info  request path=/v1/x who=\"a b\\x0a2026 error x=\\\"y\\\"\"");
}

TEST(Query, RefusesParametersThatAreNotKnown) {
  constexpr std::string_view kKnown[] = {"limit", "state", "label*"};
  EXPECT_TRUE(check_query(with_query({}), kKnown));
  EXPECT_TRUE(check_query(with_query({{"label", "a=1"}, {"label", "b=2"}, {"limit", "1"}}), kKnown));
  Result<void> unknown = check_query(with_query({{"limt", "1"}}), kKnown);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::Invalid);
  EXPECT_NE(unknown.error().message().find("'limt'"), std::string::npos);
  EXPECT_NE(unknown.error().hint().find("'limit'"), std::string::npos);
  Result<void> twice = check_query(with_query({{"limit", "1"}, {"limit", "2"}}), kKnown);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message().find("'limit'"), std::string::npos);
}

TEST(Query, HasPointsInTime) {
  auto time = [](const char* text) { return time_parameter(with_query({{"since", text}}), "since"); };
  EXPECT_EQ(time("1970-01-01T00:00:01Z"), 1000);
  EXPECT_EQ(time("1970-01-01T00:00:01.250Z"), 1250);
  EXPECT_EQ(time("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(time("1969-12-31T23:30:00-00:30"), 0);
  for (const char* text : {"", "1", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00Q"})
    EXPECT_FALSE(time(text)) << text;
  EXPECT_EQ(time_parameter(with_query({}), "since").value(), std::nullopt);
}

TEST(Conditions, AreThoseOfRfc9110) {
  auto with = [](const char* name, const char* value) {
    http::Request request;
    request.headers = {{name, value}};
    return request;
  };
  const std::optional<std::string> tag = R"("a")";
  EXPECT_TRUE(check_unchanged(http::Request(), tag));
  EXPECT_TRUE(check_unchanged(with("If-Match", R"("b", "a")"), tag));
  EXPECT_TRUE(check_unchanged(with("If-Match", "*"), tag));
  EXPECT_EQ(check_unchanged(with("If-Match", R"("b")"), tag).error().status, 412);
  EXPECT_EQ(check_unchanged(with("If-Match", "*"), std::nullopt).error().status, 412);
  EXPECT_TRUE(check_unchanged(with("If-None-Match", "*"), std::nullopt));
  EXPECT_EQ(check_unchanged(with("If-None-Match", "*"), tag).error().status, 412);
  EXPECT_TRUE(is_known(with("If-None-Match", R"(W/"a")"), *tag).value());
  EXPECT_FALSE(is_known(with("If-None-Match", R"("b")"), *tag).value());
  EXPECT_EQ(is_known(with("If-Match", R"("b")"), *tag).error().status, 412);
}

}  // namespace
}  // namespace cove::api
