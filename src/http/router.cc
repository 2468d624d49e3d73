#include "http/router.h"

#include <algorithm>
#include <compare>
#include <set>
#include <tuple>

#include "base/ascii.h"
#include "base/text.h"
#include "http1/percent.h"

namespace cove::http {
namespace {

// "/a/b%2Fc/" → "a", "b/c", "".
std::vector<std::string> decoded_segments(std::string_view path) {
  std::vector<std::string> segments;
  if (!path.starts_with('/')) return segments;  // "*": no route is for that
  for (auto& raw : split(path.substr(1), '/')) segments.push_back(http1::percent_decode(raw).value_or(raw));
  return segments;
}

// The host of a request, without the port, in small letters.
std::string host_of(const Request& request) {
  std::string_view host = request.header("host").value_or("");
  size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
  return lower(host);
}

bool host_fits(const std::string& pattern, const Request& request, std::map<std::string, std::string>& captures) {
  if (pattern.empty()) return true;
  std::string host = host_of(request);
  if (!pattern.starts_with("*.")) return same_word(pattern, host);
  size_t dot = host.find('.');
  if (dot == 0 || dot == std::string::npos) return false;
  if (!same_word(std::string_view(pattern).substr(1), std::string_view(host).substr(dot))) return false;
  captures["host_label"] = host.substr(0, dot);
  return true;
}

bool header_fits(const Route& route, const Request& request) {
  if (route.header.empty()) return true;
  auto value = request.header(route.header);
  return value && (route.header_value.empty() || *value == route.header_value);
}

int host_rank(const std::string& host) {
  if (host.empty()) return 2;
  return host.starts_with('*') ? 1 : 0;
}

bool takes_method(const Route& route, const std::string& method) {
  return route.method == method || route.method == "*" || (method == "HEAD" && route.method == "GET");
}

// For routes that are alike but for this: what is for HEAD alone before GET, and what is for all last.
int method_rank(const std::string& method) {
  if (method == "HEAD") return 0;
  return method == "*" ? 2 : 1;
}

}  // namespace

std::vector<Router::Segment> Router::parse(const std::string& pattern) {
  std::vector<Segment> segments;
  for (auto& piece : split(std::string_view(pattern).substr(pattern.starts_with('/') ? 1 : 0), '/')) {
    if (!piece.starts_with('{') || !piece.ends_with('}'))
      segments.push_back({Segment::Kind::Fixed, piece});
    else if (piece.ends_with("...}"))
      segments.push_back({Segment::Kind::Rest, piece.substr(1, piece.size() - 5)});
    else
      segments.push_back({Segment::Kind::Capture, piece.substr(1, piece.size() - 2)});
  }
  return segments;
}

void Router::add(Route route) {
  Rule rule{routes_.size(), parse(route.pattern)};
  routes_.push_back(std::move(route));
  auto place = std::upper_bound(rules_.begin(), rules_.end(), rule,
                                [this](const Rule& a, const Rule& b) { return more_specific(a, b); });
  rules_.insert(place, std::move(rule));
}

bool Router::more_specific(const Rule& a, const Rule& b) const {
  const Route &left = routes_[a.route], &right = routes_[b.route];
  auto rank = [](const Route& route) {
    return std::tuple(host_rank(route.host), route.header.empty(), route.header_value.empty());
  };
  if (rank(left) != rank(right)) return rank(left) < rank(right);
  auto order =
      std::lexicographical_compare_three_way(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                                             [](const Segment& x, const Segment& y) { return x.kind <=> y.kind; });
  return order != 0 ? order < 0 : method_rank(left.method) < method_rank(right.method);
}

bool Router::fits(const Rule& rule, const Request& request, const std::vector<std::string>& path,
                  std::map<std::string, std::string>& captures) const {
  const Route& route = routes_[rule.route];
  size_t i = 0;
  for (; i < rule.segments.size(); ++i) {
    const Segment& segment = rule.segments[i];
    if (i >= path.size()) return false;
    if (segment.kind == Segment::Kind::Rest) {
      captures[segment.text] = join({path.begin() + static_cast<ptrdiff_t>(i), path.end()}, "/");
      i = path.size();
      break;
    }
    if (segment.kind == Segment::Kind::Fixed && segment.text != path[i]) return false;
    if (segment.kind == Segment::Kind::Capture && path[i].empty()) return false;
    if (segment.kind == Segment::Kind::Capture) captures[segment.text] = path[i];
  }
  return i == path.size() && header_fits(route, request) && host_fits(route.host, request, captures);
}

std::variant<Router::Match, Router::WrongMethod, Router::NoRoute> Router::match(const Request& request) const {
  std::vector<std::string> path = decoded_segments(request.path);
  std::set<std::string> allowed;
  for (auto& rule : rules_) {
    Match match{&routes_[rule.route], {}};
    if (!fits(rule, request, path, match.captures)) continue;
    if (takes_method(*match.route, request.method)) return match;
    allowed.insert(match.route->method);
  }
  if (allowed.empty()) return NoRoute{};
  if (allowed.contains("GET")) allowed.insert("HEAD");
  return WrongMethod{{allowed.begin(), allowed.end()}};
}

}  // namespace cove::http
