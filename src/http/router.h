#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "http/exchange.h"

namespace cove::http {

using Handler = std::function<void(Exchange&)>;

// A route: a method, a pattern, and optionally which hosts and which header it is for.
//   {"GET", "/v1/sandboxes/{id}/execs/{exec}", handler}
// {name} captures one path segment, which is not empty; {name...} at the end captures the rest, which may be.
// Segments are compared and captured decoded; an escaped slash does not end one.
struct Route {
  std::string method;  // "*" for all
  std::string pattern;
  Handler handler;
  std::string host;          // "" for all; "*.cove.localhost" captures the one label in front as `host_label`
  std::string header;        // "" for all; else a header that must be there…
  std::string header_value;  // …with this value; "" for any
};

// The routes of one listener. Built once, then only read. The most specific route wins: with a host before without (a
// whole one before one with a `*`), with a header before without, fixed segments before captures (from the left), then
// the order of adding.
class Router {
 public:
  void add(Route route);
  const std::vector<Route>& routes() const { return routes_; }

  struct Match {
    const Route* route;
    std::map<std::string, std::string> captures;
  };
  struct WrongMethod {
    std::vector<std::string> allowed;  // sorted, each once
  };
  struct NoRoute {};
  // HEAD falls back to GET. The path's escapes are well-formed: the server has seen to it.
  std::variant<Match, WrongMethod, NoRoute> match(const Request& request) const;

 private:
  struct Segment {
    enum class Kind { Fixed, Capture, Rest };
    Kind kind;
    std::string text;  // what it is, or the name it is captured under
  };
  // What a route means, worked out once.
  struct Rule {
    size_t route;  // its place in routes_
    std::vector<Segment> segments;
  };

  static std::vector<Segment> parse(const std::string& pattern);
  bool more_specific(const Rule& a, const Rule& b) const;
  // Whether all but the method fits.
  bool fits(const Rule& rule, const Request& request, const std::vector<std::string>& path,
            std::map<std::string, std::string>& captures) const;

  std::vector<Route> routes_;
  std::vector<Rule> rules_;  // the most specific first
};

}  // namespace cove::http
