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

// coved's end of the channel to cove-spawn. Thread-safe; a separate thread reads the replies.
class SpawnClient {
 public:
  struct Answer {
    std::string body;
    std::vector<UniqueFd> fds;
  };
  using Later = std::function<void(Result<Answer>)>;
  // Receives cove-spawn's notifications about a sandbox; called by the reading thread.
  struct Listener {
    virtual ~Listener() = default;
    virtual void built() = 0;
    virtual void broken(Error error) = 0;
    virtual void out_of_memory() = 0;
  };

  // `gone` is called once by the reading thread, when the channel has closed.
  static std::shared_ptr<SpawnClient> create(UniqueFd channel, std::function<void()> gone);
  ~SpawnClient();

  // Waits for the reply.
  Result<Answer> ask(spawn::Type type, const wire::Writer& rest, const std::vector<int>& fds = {});
  // `later` is called by the reading thread, or by this one if the request cannot be sent; it must not block.
  void ask(spawn::Type type, const wire::Writer& rest, Later later, const std::vector<int>& fds = {});
  // Sends a request that has no reply.
  void tell(spawn::Type type, const wire::Writer& rest);

  void listen(const std::string& id, std::weak_ptr<Listener> listener);
  void unlisten(const std::string& id);
  bool closed();

  // Limits the number of sandboxes that are ended without a waiting caller; false if there are too many.
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

// The native runtime and the OCI runtimes through cove-spawn, for a process with threads and without privilege.
std::vector<std::string> spawned_runtime_names();
std::unique_ptr<Runtime> make_spawned_runtime(std::shared_ptr<SpawnClient> spawn);
// Commands on the host through cove-spawn.
Result<std::unique_ptr<HostProcess>> spawned_record(std::shared_ptr<SpawnClient> spawn, const Workspace& workspace);
std::unique_ptr<HostRunner> make_spawned_host_runner(std::shared_ptr<SpawnClient> spawn);

// The unpacked layers of images, through cove-spawn.
std::unique_ptr<LayerStore> make_spawned_layer_store(std::shared_ptr<SpawnClient> spawn);

// The output of `cove doctor --json`, run by cove-spawn, whose rights determine what sandboxes can use.
Result<std::string> diagnose(SpawnClient& spawn);

}  // namespace cove::spawn
