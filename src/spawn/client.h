#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "image/layer_store.h"
#include "runtime/runtime.h"
#include "spawn/protocol.h"

namespace cove::spawn {

// coved's end of the channel to cove-spawn. Thread-safe; a thread of its own reads the answers.
class SpawnClient {
 public:
  struct Answer {
    std::string body;
    std::vector<UniqueFd> fds;
  };
  using Later = std::function<void(Result<Answer>)>;
  // What cove-spawn says of a sandbox unasked; called by the reading thread.
  struct Listener {
    virtual ~Listener() = default;
    virtual void built() = 0;
    virtual void broken(Error error) = 0;
    virtual void out_of_memory() = 0;
  };

  // `gone` is called once, by the reading thread, when the channel has closed.
  static std::shared_ptr<SpawnClient> create(UniqueFd channel, std::function<void()> gone);
  ~SpawnClient();

  // Waits for the answer.
  Result<Answer> ask(spawn::Type type, const wire::Writer& rest, const std::vector<int>& fds = {});
  // `later` is called by the reading thread, or by this one where the request cannot be sent; it must be quick.
  void ask(spawn::Type type, const wire::Writer& rest, Later later, const std::vector<int>& fds = {});
  // Requests that have no answer.
  void tell(spawn::Type type, const wire::Writer& rest);

  void listen(const std::string& id, std::weak_ptr<Listener> listener);
  void unlisten(const std::string& id);
  bool closed();

  // Sandboxes that are ended with nobody waiting; false where there are too many of them.
  bool begin_ending();
  void end_ending() { --endings_; }

 private:
  SpawnClient(UniqueFd channel, std::function<void()> gone);
  void read();
  void take(std::string data, std::vector<UniqueFd> fds);
  void tell_listener(spawn::Type type, wire::Reader& in);
  void fail_all();

  UniqueFd channel_;
  std::function<void()> gone_;
  std::mutex mutex_;
  std::map<uint64_t, Later> waiting_;
  std::map<std::string, std::weak_ptr<Listener>> listeners_;
  uint64_t next_token_ = 1;
  bool closed_ = false;
  std::atomic<int> endings_ = 0;
  std::thread reader_;
};

// The native runtime and the OCI runtimes by way of cove-spawn: what it makes can be used in a process with threads and
// without privilege.
std::vector<std::string> spawned_runtime_names();
std::unique_ptr<Runtime> make_spawned_runtime(std::shared_ptr<SpawnClient> spawn);
// Commands on the host itself, likewise.
Result<std::unique_ptr<HostProcess>> spawned_record(std::shared_ptr<SpawnClient> spawn, const Workspace& workspace);
std::unique_ptr<HostRunner> make_spawned_host_runner(std::shared_ptr<SpawnClient> spawn);

// The unpacked layers of images, likewise.
std::unique_ptr<LayerStore> make_spawned_layer_store(std::shared_ptr<SpawnClient> spawn);

// What `cove doctor --json` says of this machine, examined by cove-spawn, whose rights decide what sandboxes can have.
Result<std::string> diagnose(SpawnClient& spawn);

}  // namespace cove::spawn
