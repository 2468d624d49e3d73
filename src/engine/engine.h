#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/config.h"
#include "engine/exec/exec.h"
#include "engine/network/networks.h"
#include "engine/operation/operations.h"
#include "engine/pool/warm_pool.h"
#include "engine/preview/listening_port.h"
#include "engine/quota/admission.h"
#include "engine/sandbox_info.h"
#include "engine/secret/sandbox_secrets.h"
#include "image/images.h"
#include "run/languages.h"
#include "runtime/runtime.h"
#include "store/store.h"

namespace cove::engine {

// What the engine knows of the world around it.
struct EngineOptions {
  std::shared_ptr<Clock> clock = machine_clock();
  MeasureRoom measure_room = engine::measure_room;
  MakeGateway make_gateway = {};  // none: the runtime's
  // Credentials with the key of the secrets; their folder is the configuration's.
  KeyPlaces secret_keys = {};
};

// Sandboxes that live: the use cases behind the API. Thread-safe; calls block while the work is done, but never on a
// sandbox's own behaviour. Everything that returned is on record (it survives kill -9 of the server).
//
// A sandbox is named by its id, or by its name in the caller's project. What belongs to another project is NotFound.
// Errors beside the usual ones: Conflict, where the sandbox's or exec's state does not allow it; Exhausted, where
// admission control refuses (then retry_after() says when to try again).
//
// Scopes are checked here: Read for looking, Run for using, Admin for keys and projects (Denied).
class Engine {
 public:
  // Takes over what an earlier server left: running sandboxes are adopted with their execs, half-made ones removed.
  static Result<std::unique_ptr<Engine>> open(const Config& config, std::unique_ptr<Store> store,
                                              std::unique_ptr<Runtime> runtime, std::unique_ptr<Images> images,
                                              EngineOptions options = {});
  virtual ~Engine() = default;
  // Everything that happens by itself goes by it.
  virtual Clock& clock() const = 0;
  virtual Images& images() = 0;
  virtual Languages& languages() = 0;
  virtual Operations& operations() = 0;
  virtual Networks& networks() = 0;
  virtual SandboxSecrets& secrets() = 0;

  virtual Result<SandboxInfo> create(const Caller& caller, CreateOrder order) = 0;
  virtual Result<SandboxInfo> find(const Caller& caller, const std::string& sandbox) = 0;
  virtual Result<Page<SandboxInfo>> list(const Caller& caller, const SandboxFilter& filter, const std::string& after,
                                         size_t limit) = 0;
  virtual Result<SandboxInfo> update(const Caller& caller, const std::string& sandbox, const UpdateOrder& order) = 0;
  virtual Result<SandboxInfo> start(const Caller& caller, const std::string& sandbox) = 0;
  // Programs get SIGTERM and `grace` to end, then everything is killed. Files stay.
  virtual Result<SandboxInfo> stop(const Caller& caller, const std::string& sandbox,
                                   std::chrono::milliseconds grace) = 0;
  virtual Result<SandboxInfo> pause(const Caller& caller, const std::string& sandbox) = 0;
  virtual Result<SandboxInfo> resume(const Caller& caller, const std::string& sandbox) = 0;
  // Counts its time anew, from now on; with values of its own, those.
  virtual Result<SandboxInfo> renew(const Caller& caller, const std::string& sandbox,
                                    std::optional<std::chrono::milliseconds> idle,
                                    std::optional<std::chrono::milliseconds> max) = 0;
  virtual Result<void> remove(const Caller& caller, const std::string& sandbox) = 0;
  virtual Result<Stats> stats(const Caller& caller, const std::string& sandbox) = 0;
  // Notes which folder a workspace is, as the caller may have it, where that is not noted yet: whatever is put in its
  // place later is noticed.
  virtual Result<void> pin(const Caller& caller, Workspace& workspace) = 0;

  virtual Result<std::shared_ptr<Exec>> exec(const Caller& caller, const std::string& sandbox, ExecOrder order) = 0;
  // Also one of a sandbox that is gone, by the sandbox's id, until the retention of its execs is over.
  virtual Result<std::shared_ptr<Exec>> find_exec(const Caller& caller, const std::string& sandbox,
                                                  const std::string& exec, Scope scope) = 0;
  // Puts code on record that runs in a context (`order.context`) of the sandbox, as an exec with the id of the order.
  virtual Result<std::unique_ptr<CodeRecord>> record_code(const Caller& caller, const std::string& sandbox,
                                                          ExecOrder order, std::shared_ptr<CodeControl> control) = 0;
  struct ExecFilter {
    std::optional<ExecState> state;
    std::string tag;
    std::string session = {};
    std::string tag_begins = {};
  };
  // As with find_exec.
  virtual Result<Page<ExecInfo>> list_execs(const Caller& caller, const std::string& sandbox, const ExecFilter& filter,
                                            const std::string& after, size_t limit) = 0;
  // Running or ended.
  virtual Result<void> retag_exec(const Caller& caller, const std::string& sandbox, const std::string& exec,
                                  const std::string& tag) = 0;

  // While it exists the sandbox counts as in use. Resumes it where it may.
  virtual Result<std::shared_ptr<void>> use(const Caller& caller, const std::string& sandbox) = 0;

  // The sandbox's files, as one of its users (empty: its own). Resumes it where it may. While the lease exists the
  // sandbox counts as in use. Read looks, Run changes.
  struct FileLease {
    std::string sandbox_id;
    std::string project;
    std::unique_ptr<View> view;
    std::shared_ptr<void> use;
  };
  virtual Result<FileLease> files(const Caller& caller, const std::string& sandbox, const std::string& user,
                                  Scope scope) = 0;
  // Connects to a port of the sandbox's loopback interface. Resumes it where it may. While the connection's `use`
  // exists the sandbox counts as in use. An errno where that fails: ECONNREFUSED where no one listens.
  struct Connection {
    UniqueFd socket;
    std::shared_ptr<void> use;
  };
  virtual Result<Connection> connect(const Caller& caller, const std::string& sandbox, uint16_t port) = 0;
  // The TCP ports at which its processes listen, in order, each once. Conflict where it is not running.
  virtual Result<std::vector<ListeningPort>> ports(const Caller& caller, const std::string& sandbox) = 0;
  // Ends all tokens of the port, also where the access stays as it is.
  virtual Result<PortRule> set_port_access(const Caller& caller, const std::string& sandbox, uint16_t port,
                                           PortAccess access) = 0;

  // For the event stream: what was done to files, refusals, and so on.
  virtual void note(const Caller& caller, const std::string& kind, const std::string& sandbox_id,
                    const std::string& exec_id, const std::string& data_json) = 0;

  // Events, oldest first. An empty page where there is nothing new; event_fd() of a subscription wakes followers.
  // Of the caller's project, whatever the filter says of that.
  virtual Result<std::vector<EventRecord>> events(const Caller& caller, EventFilter filter, uint64_t after,
                                                  size_t limit) = 0;
  struct Subscription {
    UniqueFd fd;  // an eventfd that becomes readable when events were appended; whoever reads it clears it
  };
  virtual Result<std::shared_ptr<Subscription>> subscribe_events() = 0;

  virtual Result<Numbers> usage(const std::string& project) = 0;  // empty: all
  virtual std::chrono::seconds retry_after() const = 0;
  virtual Store& store() = 0;
  virtual const Config& config() const = 0;
  // Of sandboxes of that runtime.
  virtual Capabilities capabilities(const std::string& runtime) const = 0;
  // See Runtime::examine.
  virtual Result<RuntimeFact> examine(const std::string& runtime) = 0;

  struct Counts {
    std::map<std::string, uint64_t> sandboxes;  // by state
    uint64_t execs_running = 0;
    uint64_t refusals = 0;
    WarmPool::Numbers pool;
    // Histograms in seconds: upper bounds and counts, the last for all; sum and count.
    struct Histogram {
      std::vector<double> bounds;
      std::vector<uint64_t> counts;
      double sum = 0;
      uint64_t count = 0;
    };
    Histogram create_seconds;
    Histogram exec_seconds;        // from the request to the end
    Histogram exec_start_seconds;  // from the request until process 1 has it
  };
  virtual Counts counts() = 0;

  // Nothing to keep: no sandbox at all is there that would be missed (for a server that was started by itself).
  virtual bool idle() const = 0;
  // Ends its threads; sandboxes go on.
  virtual void stop_serving() = 0;
};

}  // namespace cove::engine
