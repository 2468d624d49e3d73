#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/rest/hosts.h"
#include "api/rest/idempotency.h"
#include "api/rest/metrics.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/service/service.h"
#include "http/router.h"
#include "http/server.h"

// The HTTP API over the engine: parse, call the engine, answer. One file per resource.
namespace cove::api {

// What the handlers share. Lives as long as the server; thread-safe.
struct Api {
  engine::Engine& engine;
  std::unique_ptr<engine::Service> service;
  uint32_t owner = 0;                                     // whose server it is: he and root may use the Unix socket
  std::function<Result<std::string>()> diagnosis;         // of the machine, as `cove doctor --json` prints it
  std::function<bool()> can_spawn = [] { return true; };  // whether new sandboxes can be made
  Hosts hosts;
  std::string secret;        // signs tokens and URLs
  bool autostarted = false;  // by a command, not by a person
  Metrics metrics;
  OnceKeys once_keys;
  std::mutex updates;  // PATCH reads, merges and writes: one after the other

  static Result<std::unique_ptr<Api>> create(engine::Engine& engine, uint32_t owner);

 private:
  explicit Api(engine::Engine& with_engine) : engine(with_engine), hosts(with_engine.config()) {}
};

std::shared_ptr<http::Router> make_router(Api& api);

enum class Face { Local, Tcp, Preview };
// Who may come in at all (peer's uid; Host and Origin), problems in place of plain errors, metrics and the access log.
http::ListenerOptions listener_options(Api& api, Face face);

}  // namespace cove::api
