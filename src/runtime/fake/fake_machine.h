#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/fake/fake_box.h"
#include "runtime/fake/fake_clock.h"
#include "runtime/runtime.h"

namespace cove::fake {

// A machine in memory: what runs in its sandboxes are scripts of a few words (fake_program.h), and it outlives the
// servers that use it. Thread-safe; must itself outlive their runtimes, and the clock must outlive it.
//
//   FakeClock clock;
//   FakeMachine machine(clock);
//   auto engine = Engine::open(config, store, machine.runtime(), …, {.clock = …});
//   machine.cut_off();  // the server is killed; the next one finds what was there
class FakeMachine {
 public:
  explicit FakeMachine(FakeClock& clock);
  ~FakeMachine();
  FakeMachine(const FakeMachine&) = delete;

  std::unique_ptr<Runtime> runtime();
  // The server was killed: whatever its runtime and sandboxes are asked to do from now on has no effect.
  void cut_off();

  // --- what is there
  std::vector<std::string> running() const;  // ids
  std::vector<std::string> remains() const;  // of those too that have nothing but files, or were left half-made
  bool is_frozen(const std::string& id) const;
  SandboxSpec spec_of(const std::string& id) const;  // with the limits that it has now
  size_t programs_in(const std::string& id) const;   // that have not ended
  // Of programs that wait for their command or script: their sandbox, and their first word.
  struct Waiting {
    SandboxSpec spec;
    std::string program;
  };
  std::vector<Waiting> waiting() const;
  size_t created() const;                               // since the beginning
  size_t attempts() const;                              // those that failed, too
  size_t networks_opened(const std::string& id) const;  // how often Sandbox::open_network was called

  // --- what it can do
  void set_capabilities(Capabilities capabilities);

  // --- what goes wrong
  void refuse_creation(std::optional<Error> error);  // nullopt: no longer
  void refuse_adoption(const std::string& id);
  void refuse_destruction(std::optional<Error> error);
  void refuse_network(std::optional<Error> error);
  // From now on sandboxes are made, but for the last step, for which `let_go` is waited.
  void hold_creation();
  void let_go();
  size_t held() const;
  void end_process_one(const std::string& id);
  void run_out_of_memory(const std::string& id);
  // What makes sandboxes has died: see Runtime::lost.
  void set_lost(bool lost);

 private:
  friend class FakeRuntime;
  friend class FakeSandbox;
  friend class FakeView;

  // Their threads end without the lock.
  using Programs = std::vector<std::shared_ptr<FakeProgram>>;
  FakeBox* find(const std::string& id);
  Result<FakeBox*> find_running(const std::string& id);
  Result<void> check_creation(const SandboxSpec& spec);
  Result<std::shared_ptr<FakeChannel>> create(const SandboxSpec& spec, const std::shared_ptr<FakeServer>& server);
  Result<std::shared_ptr<FakeChannel>> adopt(const std::string& id, const std::shared_ptr<FakeServer>& server);
  Result<void> destroy(const std::string& id, Files files);
  Result<void> sweep(const std::vector<std::string>& known);
  void end(const std::string& id, SandboxEnded how);
  static Programs end_all(FakeBox& box);
  void tell(const std::string& id, Event event);
  Result<Attachment> exec(const std::string& id, const ExecSpec& spec);
  Result<NetworkSockets> open_network(const std::string& id);

  FakeWorld world_;
  std::shared_ptr<void> jumps_;
  std::map<std::string, FakeBox> boxes_;
  std::shared_ptr<FakeServer> server_;
  Capabilities capabilities_;
  size_t created_ = 0;
  size_t attempts_ = 0;
  size_t held_ = 0;
  bool holding_ = false;
  bool lost_ = false;
  std::optional<Error> creation_error_;
  std::optional<Error> destruction_error_;
  std::optional<Error> network_error_;
  std::map<std::string, size_t> networks_opened_;
  std::vector<std::string> not_adoptable_;
};

}  // namespace cove::fake
