#include "api/rest/metrics.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "api/rest/call.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::array kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string escaped(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string labels(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs) out += concat(out.empty() ? "" : ",", name, "=\"", escaped(value), "\"");
  return out;
}

std::string head(std::string_view name, std::string_view type, std::string_view help) {
  return concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

std::string sample(std::string_view name, const std::string& with_labels, const std::string& value) {
  if (with_labels.empty()) return concat(name, " ", value, "\n");
  return concat(name, "{", with_labels, "} ", value, "\n");
}

struct Histogram {
  std::vector<double> bounds;
  std::vector<uint64_t> upto;  // how many were at most as large, for each bound
  double sum = 0;
  uint64_t count = 0;
};

std::string histogram(const std::string& name, const std::string& with_labels, const Histogram& values) {
  std::string text;
  std::string prefix = with_labels.empty() ? "" : with_labels + ",";
  for (size_t i = 0; i < values.bounds.size(); ++i)
    text += sample(name + "_bucket", concat(prefix, "le=\"", number(values.bounds[i]), "\""), concat(values.upto[i]));
  text += sample(name + "_bucket", prefix + "le=\"+Inf\"", concat(values.count));
  text += sample(name + "_sum", with_labels, number(values.sum));
  return text + sample(name + "_count", with_labels, concat(values.count));
}

// From counts of each bucket alone to counts up to each bound.
Histogram cumulative(std::vector<double> bounds, const std::vector<uint64_t>& counts, double sum, uint64_t count) {
  Histogram out{std::move(bounds), {}, sum, count};
  uint64_t total = 0;
  for (size_t i = 0; i < out.bounds.size(); ++i) out.upto.push_back(total += i < counts.size() ? counts[i] : 0);
  return out;
}

std::string engine_histogram(const std::string& name, std::string_view help,
                             const engine::Engine::Counts::Histogram& values) {
  return head(name, "histogram", help) + histogram(name, "", {values.bounds, values.counts, values.sum, values.count});
}

Outcome get_metrics(Call& call) {
  std::string text = metrics_text(call.engine().counts()) + call.api.metrics.text();
  COVE_TRY(call.exchange.respond(200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, text));
  return {};
}

}  // namespace

void Metrics::count(const std::string& method, const std::string& route, int status, std::chrono::nanoseconds took) {
  double seconds = std::chrono::duration<double>(took).count();
  auto bucket = static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin());
  Route key(method, route);
  std::lock_guard lock(mutex_);
  ++statuses_[{key, status}];
  Taken& taken = times_[key];
  taken.buckets.resize(kBounds.size() + 1);
  ++taken.buckets[bucket];
  taken.sum += seconds;
  ++taken.count;
}

std::string Metrics::text() const {
  std::lock_guard lock(mutex_);
  std::string text = head("cove_http_requests_total", "counter", "Requests that were answered.");
  for (const auto& [key, count] : statuses_)
    text += sample("cove_http_requests_total",
                   labels({{"method", key.first.first}, {"route", key.first.second}, {"status", concat(key.second)}}),
                   concat(count));
  text +=
      head("cove_http_request_seconds", "histogram", "From the end of a request's headers to the end of its answer.");
  for (const auto& [route, taken] : times_)
    text += histogram("cove_http_request_seconds", labels({{"method", route.first}, {"route", route.second}}),
                      cumulative({kBounds.begin(), kBounds.end()}, taken.buckets, taken.sum, taken.count));
  return text;
}

std::string metrics_text(const engine::Engine::Counts& counts) {
  std::string text = head("cove_sandboxes", "gauge", "Sandboxes there are, by state.");
  for (engine::State state : {engine::State::Creating, engine::State::Running, engine::State::Paused,
                              engine::State::Stopped, engine::State::Deleting}) {
    auto found = counts.sandboxes.find(engine::state_name(state));
    text += sample("cove_sandboxes", labels({{"state", engine::state_name(state)}}),
                   concat(found == counts.sandboxes.end() ? 0 : found->second));
  }
  text += head("cove_execs_running", "gauge", "Execs that run now.");
  text += sample("cove_execs_running", "", concat(counts.execs_running));
  text += head("cove_refusals_total", "counter", "Requests that admission control refused.");
  text += sample("cove_refusals_total", "", concat(counts.refusals));
  text += head("cove_pool_ready", "gauge", "Sandboxes that are kept ready.");
  text += sample("cove_pool_ready", "", concat(counts.pool.ready));
  text += head("cove_pool_taken_total", "counter", "Sandboxes that were ready when they were asked for.");
  text += sample("cove_pool_taken_total", "", concat(counts.pool.taken));
  text += head("cove_pool_missed_total", "counter",
               "Sandboxes that could have been ready when they were asked for, and were not.");
  text += sample("cove_pool_missed_total", "", concat(counts.pool.missed));
  text += head("cove_pool_interpreters_total", "counter", "Programs that found their interpreter waiting.");
  text += sample("cove_pool_interpreters_total", "", concat(counts.pool.interpreters));
  text += engine_histogram("cove_create_seconds", "Time to make a sandbox.", counts.create_seconds);
  text += engine_histogram("cove_exec_seconds", "From the request for an exec to its end.", counts.exec_seconds);
  return text + engine_histogram("cove_exec_start_seconds", "From the request for an exec until process 1 has it.",
                                 counts.exec_start_seconds);
}

void add_metrics(Routes& routes) { routes.add("GET", "/metrics", kAdmin, get_metrics); }

}  // namespace cove::api
