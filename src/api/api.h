#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/attendance.h"
#include "api/hosts.h"
#include "api/metrics.h"
#include "api/operations.h"
#include "api/totals.h"
#include "api/work_files.h"
#include "base/result.h"
#include "engine/live/contexts.h"
#include "engine/live/engine.h"
#include "engine/live/sessions.h"
#include "http/router.h"
#include "http/server.h"
#include "runtime/host_runner.h"

// The HTTP API over the engine: parse, call the engine, answer. One file per resource.
namespace cove::api {

// What the handlers share. Lives as long as the server; thread-safe.
struct Api {
  live::Engine& engine;
  std::unique_ptr<live::Sessions> sessions;
  std::unique_ptr<HostRunner> host;                       // null where nothing can be run on the host
  uint32_t owner = 0;                                     // whose server it is: he and root may use the Unix socket
  std::function<Result<std::string>()> diagnosis;         // of the machine, as `cove doctor --json` prints it
  std::function<bool()> can_spawn = [] { return true; };  // whether new sandboxes can be made
  Hosts hosts;
  std::string secret;        // signs tokens and URLs
  bool autostarted = false;  // by a command, not by a person
  Metrics metrics;
  Totals totals;
  Attendance attendance;
  live::Contexts contexts;
  FreshHomes homes;
  Operations operations;
  std::mutex updates;  // PATCH reads, merges and writes: one after the other

  static Result<std::unique_ptr<Api>> create(live::Engine& engine, uint32_t owner);

 private:
  explicit Api(live::Engine& with_engine) : engine(with_engine), hosts(with_engine.config()), contexts(with_engine) {}
};

std::shared_ptr<http::Router> make_router(Api& api);

enum class Face { Local, Tcp };
// Who may come in at all (peer's uid; Host and Origin), problems in place of plain errors, metrics and the access log.
http::ListenerOptions listener_options(Api& api, Face face);

}  // namespace cove::api
