#include "api/rest/operations.h"

#include <algorithm>

#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/sse.h"
#include "base/id.h"
#include "base/text.h"
#include "engine/clock.h"

namespace cove::api {
namespace {

using engine::now_ms;

constexpr size_t kMostAtOnce = 16;
constexpr size_t kMostKept = 200;
constexpr std::chrono::milliseconds kTurn(100);

const char* state_name(Operation::State state) {
  constexpr const char* kNames[] = {"running", "succeeded", "failed"};
  return kNames[static_cast<size_t>(state)];
}

Json layers_json(const ImageProgress& progress) {
  Json layers = Json::array();
  for (const ImageProgress::Layer& layer : progress.layers())
    layers.push_back({{"digest", layer.digest},
                      {"size", layer.size},
                      {"done", layer.done},
                      {"state", layer_state_name(layer.state)}});
  return layers;
}

Checked<std::shared_ptr<Operation>> find(Call& call) {
  std::shared_ptr<Operation> operation = call.api.operations.find(call.captured("operation"));
  if (!operation || operation->project != call.caller.project)
    return refuse(404, "not_found", concat("there is no operation '", call.captured("operation"), "'"));
  return operation;
}

Outcome follow(Call& call, const Operation& operation) {
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  std::string last;
  while (true) {
    const bool ended = operation.state() != Operation::State::Running;
    std::string now = dump(operation.json());
    if (now != last || ended) COVE_TRY(stream.send(sse_event(std::nullopt, ended ? "end" : "progress", now)));
    last = std::move(now);
    if (ended) break;
    if (!operation.wait(kTurn) && call.exchange.wait(-1, std::chrono::milliseconds(0)) != http::Exchange::Wake::Timeout)
      return {};
  }
  COVE_TRY(stream.end());
  return {};
}

Outcome get_operation(Call& call) {
  std::shared_ptr<Operation> operation = COVE_TRY(find(call));
  if (accepts(call.request(), kEventStream)) return follow(call, *operation);
  return call.respond(200, dump(operation->json()));
}

}  // namespace

Operation::Operation(std::string with_kind, std::string with_target, std::string with_project)
    : id(make_id()),
      kind(std::move(with_kind)),
      target(std::move(with_target)),
      project(std::move(with_project)),
      started_ms_(now_ms()) {}

Operation::State Operation::state() const {
  std::lock_guard lock(mutex_);
  return !outcome_ ? State::Running : *outcome_ ? State::Succeeded : State::Failed;
}

Json Operation::json() const {
  Json layers = layers_json(progress);
  std::lock_guard lock(mutex_);
  State state = !outcome_ ? State::Running : *outcome_ ? State::Succeeded : State::Failed;
  return {{"id", id},
          {"kind", kind},
          {"target", target},
          {"state", state_name(state)},
          {"layers", std::move(layers)},
          {"result", state == State::Succeeded ? **outcome_ : Json()},
          {"error", state == State::Failed ? Json::parse(to_json(outcome_->error())).value_or(Json()) : Json()},
          {"started_at", time_json(started_ms_)},
          {"ended_at", time_json(ended_ms_)}};
}

void Operation::finish(Checked<Json> outcome) {
  {
    std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    ended_ms_ = now_ms();
  }
  ended_.notify_all();
}

bool Operation::wait(std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, patience, [&] { return outcome_.has_value(); });
}

Checked<Json> Operation::outcome() const {
  std::lock_guard lock(mutex_);
  return *outcome_;
}

Checked<std::shared_ptr<Operation>> Operations::start(std::string kind, std::string target, std::string project,
                                                      Work work) {
  auto operation = std::make_shared<Operation>(std::move(kind), std::move(target), std::move(project));
  std::lock_guard lock(mutex_);
  forget_old();
  auto running = std::ranges::count_if(
      all_, [](const Running& each) { return each.operation->state() == Operation::State::Running; });
  if (stopping_ || static_cast<size_t>(running) >= kMostAtOnce)
    return refuse(429, "exhausted", "too many operations are running");
  Running& added = all_.emplace_back();
  added.operation = operation;
  added.thread = std::thread([operation, work = std::move(work)] { operation->finish(work(*operation)); });
  return operation;
}

std::shared_ptr<Operation> Operations::find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  for (const Running& each : all_)
    if (each.operation->id == id) return each.operation;
  return nullptr;
}

void Operations::forget_old() {
  for (auto at = all_.begin(); at != all_.end() && all_.size() > kMostKept;) {
    if (at->operation->state() == Operation::State::Running) {
      ++at;
      continue;
    }
    at->thread.join();
    at = all_.erase(at);
  }
}

void Operations::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Running& each : all_) each.operation->progress.cancelled = true;
  }
  for (Running& each : all_)
    if (each.thread.joinable()) each.thread.join();
}

void add_operations(Routes& routes) { routes.add("GET", "/v1/operations/{operation}", kRead, get_operation); }

}  // namespace cove::api
