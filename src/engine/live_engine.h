#pragma once

#include <condition_variable>
#include <map>
#include <set>
#include <shared_mutex>
#include <thread>

#include "engine/background_jobs.h"
#include "engine/engine.h"
#include "engine/histogram.h"
#include "engine/network/live_networks.h"
#include "engine/pool/warm_pool.h"
#include "engine/quota/admission.h"
#include "engine/quota/kept_execs.h"
#include "engine/sandbox/live_sandbox.h"
#include "run/languages.h"

namespace cove::engine {

// The one Engine there is. Its parts: live_engine.cc (finding and listing), lifecycle.cc (making, changing and ending
// sandboxes), exec_start.cc, recovery.cc (taking over from an earlier server) and housekeeping.cc (expiry, pruning).
class LiveEngine : public Engine, private NetworkHost {
 public:
  LiveEngine(const Config& config, std::unique_ptr<Store> store, std::unique_ptr<Runtime> runtime,
             std::unique_ptr<Images> images, std::unique_ptr<Pump> pump, std::shared_ptr<SandboxSecrets> secrets,
             EngineOptions options);
  ~LiveEngine() override;

  Result<void> start_networks();
  Result<void> recover();
  void start_housekeeping();

  Result<SandboxInfo> create(const Caller& caller, CreateOrder order) override;
  Result<SandboxInfo> find(const Caller& caller, const std::string& sandbox) override;
  Result<Page<SandboxInfo>> list(const Caller& caller, const SandboxFilter& filter, const std::string& after,
                                 size_t limit) override;
  Result<SandboxInfo> update(const Caller& caller, const std::string& sandbox, const UpdateOrder& order) override;
  Result<SandboxInfo> start(const Caller& caller, const std::string& sandbox) override;
  Result<SandboxInfo> stop(const Caller& caller, const std::string& sandbox, std::chrono::milliseconds grace) override;
  Result<SandboxInfo> pause(const Caller& caller, const std::string& sandbox) override;
  Result<SandboxInfo> resume(const Caller& caller, const std::string& sandbox) override;
  Result<SandboxInfo> renew(const Caller& caller, const std::string& sandbox,
                            std::optional<std::chrono::milliseconds> idle,
                            std::optional<std::chrono::milliseconds> max) override;
  Result<void> remove(const Caller& caller, const std::string& sandbox) override;
  Result<Stats> stats(const Caller& caller, const std::string& sandbox) override;
  Result<void> pin(const Caller& caller, Workspace& workspace) override;

  Result<std::shared_ptr<Exec>> exec(const Caller& caller, const std::string& sandbox, ExecOrder order) override;
  Result<std::shared_ptr<Exec>> find_exec(const Caller& caller, const std::string& sandbox, const std::string& exec,
                                          Scope scope) override;
  Result<std::unique_ptr<CodeRecord>> record_code(const Caller& caller, const std::string& sandbox, ExecOrder order,
                                                  std::shared_ptr<CodeControl> control) override;
  Result<Page<ExecInfo>> list_execs(const Caller& caller, const std::string& sandbox, const ExecFilter& filter,
                                    const std::string& after, size_t limit) override;
  Result<void> retag_exec(const Caller& caller, const std::string& sandbox, const std::string& exec,
                          const std::string& tag) override;
  Result<std::shared_ptr<void>> use(const Caller& caller, const std::string& sandbox) override;
  Result<FileLease> files(const Caller& caller, const std::string& sandbox, const std::string& user,
                          Scope scope) override;
  Result<Connection> connect(const Caller& caller, const std::string& sandbox, uint16_t port) override;
  Result<std::vector<ListeningPort>> ports(const Caller& caller, const std::string& sandbox) override;
  Result<PortRule> set_port_access(const Caller& caller, const std::string& sandbox, uint16_t port,
                                   PortAccess access) override;
  void note(const Caller& caller, const std::string& kind, const std::string& sandbox_id, const std::string& exec_id,
            const std::string& data_json) override;
  Result<std::vector<EventRecord>> events(const Caller& caller, EventFilter filter, uint64_t after,
                                          size_t limit) override;
  Result<std::shared_ptr<Subscription>> subscribe_events() override;
  Result<Numbers> usage(const std::string& project) override { return admission_.numbers(project); }
  std::chrono::seconds retry_after() const override { return std::chrono::seconds(2); }
  Store& store() override { return *store_; }
  const Config& config() const override { return config_; }
  Clock& clock() const override { return *clock_; }
  Images& images() override { return *images_; }
  Languages& languages() override { return languages_; }
  Operations& operations() override { return operations_; }
  Networks& networks() override { return networks_; }
  SandboxSecrets& secrets() override { return *secrets_; }
  Capabilities capabilities(const std::string& runtime) const override { return runtime_->capabilities_of(runtime); }
  Result<RuntimeFact> examine(const std::string& runtime) override { return runtime_->examine(runtime); }
  Counts counts() override;
  bool idle() const override;
  void stop_serving() override;

 private:
  using Shared = std::shared_ptr<LiveSandbox>;
  using Key = std::pair<int64_t, std::string>;  // created_ms and id: the order of lists

  Result<Shared> look_up(const Caller& caller, const std::string& sandbox, Scope scope) const;
  void add(const Shared& sandbox);
  void drop(const Shared& sandbox);
  std::vector<Shared> all() const;
  Shared make_live(SandboxInfo info);

  // lifecycle.cc
  Result<std::optional<SandboxInfo>> earlier_answer(const CreateOrder& order, const std::string& project);
  Result<SandboxInfo> make(const Caller& caller, CreateOrder order);
  Result<std::optional<std::string>> settle_language(CreateOrder& order);
  Result<std::shared_ptr<void>> settle_image(SandboxSpec& spec);
  Result<Shared> raise(const Caller& caller, SandboxInfo info, const CreateOrder& order, std::optional<Blank> blank);
  // What is not on record of the workspace, in words.
  Result<std::vector<std::string>> record_base_of(const Caller& caller, const SandboxInfo& info);
  Result<void> start_locked(const Caller& caller, LiveSandbox& sandbox);
  Result<void> stop_locked(const Caller& caller, LiveSandbox& sandbox, std::chrono::milliseconds grace,
                           const std::string& reason, const std::string& kind);
  Result<void> pause_locked(const Caller& caller, LiveSandbox& sandbox, const std::string& reason);
  Result<void> resume_locked(const Caller& caller, LiveSandbox& sandbox);
  // From the record, with the execs, unless they are kept.
  Result<void> unrecord(const Caller& caller, LiveSandbox& sandbox, const std::string& kind);
  void drop_kept_execs(const std::string& sandbox);
  Result<void> remove_locked(const Caller& caller, const Shared& sandbox, const std::string& kind);
  // What is left of a sandbox that is not on record any more.
  Result<void> tear_down(const SandboxInfo& info, Sandbox* handle);
  Result<void> record(const Caller& caller, LiveSandbox& sandbox, SandboxInfo info, const std::string& kind,
                      const std::string& data = "{}");
  Result<std::shared_ptr<void>> begin_use(const Caller& caller, const Shared& sandbox);
  void on_gone(const Shared& sandbox, const SandboxEnded& end);
  Result<Config::Quotas> quotas_of(const std::string& project);
  Result<void> change_limits(LiveSandbox& sandbox, SandboxInfo& info, const Limits& changed);
  void change_limits_back(LiveSandbox& sandbox, const SandboxInfo& changed, const Limits& wanted);
  static void count_expiry(SandboxInfo& info, int64_t from_ms);
  static SandboxSpec runtime_spec(const SandboxInfo& info, const Caller& caller);
  static EventDraft event_of(const Caller& caller, const SandboxInfo& info, const std::string& kind, std::string data);

  // networking.cc
  Result<SandboxInfo> sandbox_for(const Caller& caller, const std::string& sandbox, Scope scope) override;
  Result<void> change_policy(const Caller& caller, const std::string& sandbox_id, const Edit& edit) override;
  Owner owner_of(const SandboxInfo& sandbox) override;
  LiveNetworks::Parts network_parts(EngineOptions& options);
  Result<std::vector<std::string>> image_hosts(const SandboxSpec& sandbox, const std::string& group);
  Result<void> check_network_change(const Caller& caller, const SandboxInfo& info, const NetworkPolicy& wanted) const;
  Result<void> change_network(const Caller& caller, LiveSandbox& sandbox, const NetworkPolicy& wanted);
  Result<void> tell_session(const SandboxInfo& info);
  void drop_network(const std::string& sandbox);
  Result<void> begin_network(const SandboxInfo& info, Sandbox& handle);
  AskNetworkUse ask_network(const SandboxInfo& sandbox, const ExecOrder& order);

  // A secret was set or removed: at once also in the policies of sandboxes that name it.
  void refresh_secret(const std::string& project, const std::string& name);

  // exec_start.cc
  Result<LanguagePlan> plan_code(const SandboxInfo& sandbox, ExecOrder& order);
  Result<void> put_code(LiveSandbox& sandbox, const LanguagePlan& plan, ExecOrder& order);
  Result<std::shared_ptr<LiveExec>> launch(const Caller& caller, LiveSandbox& sandbox, const SandboxInfo& info,
                                           ExecOrder order, ExecSecrets secrets,
                                           std::optional<LiveSandbox::Waiting> waiting);
  LiveExec::Parts parts_of(const Caller& caller, const SandboxInfo& sandbox, ExecOrder order) const;
  std::string log_path(const std::string& sandbox, const std::string& exec) const;
  void remove_logs(const std::string& sandbox) const;
  Result<RemovedSandbox> find_removed(const Caller& caller, const std::string& sandbox, Scope scope);
  Result<Page<ExecInfo>> page_of(const std::string& sandbox, const ExecFilter& filter, const std::string& after,
                                 size_t limit, const LiveSandbox* running_in);

  // Where the record of its workspace's base is.
  std::string base_path(const std::string& sandbox) const;
  void remove_base(const std::string& sandbox) const;

  // recovery.cc
  Result<void> move_bases() const;
  Result<void> recover_removed(std::vector<std::string>& known);
  Result<void> recover_sandbox(const SandboxRecord& record);
  Result<void> recover_state(const Shared& sandbox, SandboxInfo info);
  Result<void> adopt(const Shared& sandbox, SandboxInfo info);
  std::vector<LiveExec::Parts> adoptable_execs(const SandboxInfo& info, const std::vector<std::string>& known);
  void end_lost_execs(const SandboxInfo& info, const std::set<std::string>& adopted, const std::string& why);

  // housekeeping.cc
  void keep_house();
  void prune_records();
  void prune_execs(const Shared& sandbox);
  void expire(const Shared& sandbox);
  void persist_touches();

  const Config config_;
  const std::shared_ptr<Clock> clock_;
  std::unique_ptr<Store> store_;
  const std::shared_ptr<SandboxSecrets> secrets_;
  Operations operations_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<Pump> pump_;
  RoomGauge room_;
  Languages languages_;
  LiveNetworks networks_;
  WarmPool pool_;
  BackgroundJobs jobs_;
  Admission admission_;
  KeptExecs kept_execs_;
  Histogram create_seconds_;
  Histogram exec_seconds_;
  Histogram exec_start_seconds_;
  ExecTools tools_;

  mutable std::shared_mutex mutex_;  // of the three below
  std::map<std::string, Shared> by_id_;
  std::map<std::pair<std::string, std::string>, std::string> by_name_;  // project and name
  std::map<Key, Shared> in_order_;

  std::mutex making_mutex_;
  std::condition_variable made_;
  std::set<std::pair<std::string, std::string>> making_;  // idempotency keys that are being worked on

  std::mutex events_mutex_;
  std::vector<std::weak_ptr<Subscription>> event_followers_;

  std::mutex house_mutex_;
  std::condition_variable house_wake_;
  bool stopping_ = false;
  std::thread house_;
  std::map<std::string, int64_t> touched_;  // last_used_ms on record
};

}  // namespace cove::engine
