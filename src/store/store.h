#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "store/records.h"

namespace cove {

class Database;

// What must survive a restart of the server: sandboxes, execs, sessions, events, keys, projects, in SQLite
// (FOLDER/cove.db).
//
// Promises:
// - Any thread may call anything (but see on_events); calls take their turn, and each is short.
// - A change and its events are one transaction: both are there afterwards or neither is.
// - What returned without an error survives `kill -9` of the process at once: it is in the kernel's hands (SQLite's
// WAL,
//   without fsync). After a power cut the last seconds of it may be missing, but never a part of a change. Keys,
//   projects and secrets are written through to the disk (synchronous=FULL) and survive that too.
// - One server per folder, held by a lock that ends with the process.
//
// Changes return the sequence number of the last event that they appended, 0 where they appended none.
// Errors: NotFound and Exists as said below; Exhausted where the disk is full; Internal where the file is damaged.
class Store {
 public:
  // Makes the folder and the database where there is none; the folder must be this user's own. Exists where another
  // server has it; Unsupported where a newer Cove wrote it; Internal, with what to do, where the file is no database.
  static Result<std::unique_ptr<Store>> open(const std::string& folder);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Called after each commit that appended events, by the thread that made the change and outside of all locks; must
  // not block. To be set before other threads use the store.
  void on_events(std::function<void()> hook);

  // --- sandboxes ---------------------------------------------------------------------------------------------------
  // Exists where the project has one of that name or binding (or the id is taken, or the idempotency key has been used:
  // look with find_idempotency). NotFound where there is no such project.
  Result<uint64_t> insert_sandbox(const SandboxRecord& sandbox, const std::optional<Idempotency>& idempotency,
                                  std::span<const EventDraft> events);
  // Replaces everything but id, project, binding and created_ms. NotFound where it is gone, Exists where the new name
  // is taken.
  Result<uint64_t> update_sandbox(const SandboxRecord& sandbox, std::span<const EventDraft> events);
  // Only these two; nothing happens where the sandbox is gone.
  Result<void> touch_sandbox(const std::string& id, int64_t last_used_ms, int64_t expires_ms);
  // Its execs go too. A sandbox that was never acknowledged should forget its idempotency key, so that the request can
  // be made again. NotFound where it is gone already (then no event is appended).
  enum class IdempotencyKey { Keep, Forget };
  Result<uint64_t> remove_sandbox(const std::string& id, std::span<const EventDraft> events,
                                  IdempotencyKey key = IdempotencyKey::Keep);

  // Removes it, but not the execs of it that have ended: they are found by its id until forget_removed(). NotFound.
  Result<uint64_t> retire_sandbox(const RemovedSandbox& sandbox, std::span<const EventDraft> events);
  // An empty project means any. NotFound.
  Result<RemovedSandbox> find_removed(const std::string& project, const std::string& id);
  // In the order of their removal.
  Result<std::vector<RemovedSandbox>> removed_sandboxes();
  // With its execs; nothing happens where it is not there.
  Result<void> forget_removed(const std::string& id);

  // By id, else by name; an empty project means any. NotFound; Invalid where a name is ambiguous between projects.
  Result<SandboxRecord> find_sandbox(const std::string& project, const std::string& id_or_name);
  // Empty means any.
  struct SandboxFilter {
    std::string project;
    std::string state;
    std::string name;
  };
  // In the order of (created_ms, id), at most `limit`, those behind `after`: empty, or cursor() of a record that was
  // listed before (it need not exist any more). Invalid where that is no cursor.
  Result<std::vector<SandboxRecord>> list_sandboxes(const SandboxFilter& filter, const std::string& after,
                                                    size_t limit);
  Result<std::vector<SandboxRecord>> all_sandboxes();
  // The one that serves this scope of the project, if there is one.
  Result<std::optional<SandboxRecord>> find_bound(const std::string& project, const std::string& binding);
  // Sorted by project, then state; states without sandboxes are left out. Looks at every sandbox.
  Result<std::vector<StateCount>> count_sandboxes();

  Result<std::optional<Idempotency>> find_idempotency(const std::string& project, const std::string& key);
  // In place of what there is of that project and key. The oldest answers of the project are removed where they take
  // more room than that.
  static constexpr uint64_t kMostIdempotencyBytes = 64 << 20;
  Result<void> put_idempotency(const Idempotency& entry);
  Result<void> forget_idempotency(const std::string& project, const std::string& key);
  // Those from before that time; how many there were.
  Result<uint64_t> prune_idempotency(int64_t older_than_ms);

  // --- execs -------------------------------------------------------------------------------------------------------
  // NotFound where the sandbox is gone, Exists where the id is taken.
  Result<uint64_t> insert_exec(const ExecRecord& exec, std::span<const EventDraft> events);
  // That it has ended: replaces state, tag, spec, result, ended_ms and position, and notes what it used. NotFound where
  // it is gone.
  Result<uint64_t> end_exec(const ExecRecord& exec, const UsageRecord& usage, std::span<const EventDraft> events);
  // Nothing happens where it is gone.
  Result<void> retag_exec(const std::string& sandbox_id, const std::string& id, const std::string& tag);
  // An empty sandbox_id means any. NotFound.
  Result<ExecRecord> find_exec(const std::string& sandbox_id, const std::string& id);
  struct ExecFilter {
    std::string state;
    std::string tag;
    std::string session = {};
    std::string tag_begins = {};
  };
  // In the order of (started_ms, id), as with sandboxes.
  Result<std::vector<ExecRecord>> list_execs(const std::string& sandbox_id, const ExecFilter& filter,
                                             const std::string& after, size_t limit);
  Result<std::vector<ExecRecord>> running_execs(const std::string& sandbox_id);
  Result<std::vector<ExecRecord>> running_execs_of_session(const std::string& session);
  // When the last of the session's execs ended that has; 0 where none has.
  Result<int64_t> last_end_in_session(const std::string& session);
  // What is kept of its ended execs, in bytes, by their ids; the oldest first.
  Result<std::vector<std::pair<std::string, uint64_t>>> sizes_of_ended_execs(const std::string& sandbox_id);
  // Removes the record of an exec that has ended.
  Result<void> remove_exec(const std::string& id);
  // Removes ended execs of the sandbox but for the newest `keep_newest` of them; the ids of those removed.
  Result<std::vector<std::string>> prune_execs(const std::string& sandbox_id, size_t keep_newest);

  // --- sessions ----------------------------------------------------------------------------------------------------
  // NotFound where there is no such project, Exists where the id is taken.
  Result<uint64_t> insert_session(const SessionRecord& session, std::span<const EventDraft> events);
  // That it uses this sandbox from now on. NotFound where there is no active session, or no sandbox, of that id.
  Result<uint64_t> bind_session(const std::string& id, const std::string& sandbox_id,
                                std::span<const EventDraft> events);
  // Replaces its spec. NotFound where there is no active session of that id.
  Result<uint64_t> update_session(const std::string& id, const std::string& spec, std::span<const EventDraft> events);
  // Never back in time; nothing happens where it is gone or has ended.
  Result<void> touch_session(const std::string& id, int64_t last_used_ms);
  // NotFound where there is no active session of that id, or it was used after `unused_since_ms` (then no event is
  // appended).
  struct SessionEnd {
    std::string reason;
    int64_t time_ms = 0;
    int64_t unused_since_ms = INT64_MAX;
  };
  Result<uint64_t> end_session(const std::string& id, const SessionEnd& end, std::span<const EventDraft> events);
  // An empty project means any. NotFound.
  Result<SessionRecord> find_session(const std::string& project, const std::string& id);
  // Empty means any.
  struct SessionFilter {
    std::string project;
    std::string agent;
    std::string scope;
    std::string state;
  };
  // In the order of (created_ms, id), as with sandboxes.
  Result<std::vector<SessionRecord>> list_sessions(const SessionFilter& filter, const std::string& after, size_t limit);
  // Active ones that, by what is on record, were not used for as long as they may be.
  Result<std::vector<SessionRecord>> idle_sessions(int64_t now_ms);
  // Those that serve a session which is not active, or not there: the server ended before it could remove them.
  Result<std::vector<SandboxRecord>> orphaned_sandboxes();
  // Sessions that ended before that time; how many there were.
  Result<uint64_t> prune_sessions(int64_t ended_before_ms);

  // --- events ------------------------------------------------------------------------------------------------------
  Result<uint64_t> append_events(std::span<const EventDraft> events);
  // Those with a higher number, in order; an empty project means all. Numbers rise by one: whoever has read up to N
  // has read everything up to N (but for what was pruned before).
  Result<std::vector<EventRecord>> events_after(uint64_t seq, const std::string& project, size_t limit);
  Result<std::vector<EventRecord>> events_after(uint64_t seq, const EventFilter& filter, size_t limit);
  // The number of the newest event ever appended, 0 at first. Takes no lock.
  uint64_t last_event() const { return last_event_.load(std::memory_order_acquire); }
  // The number of the oldest event that is kept, 0 where there is none.
  Result<uint64_t> first_event();
  // Removes events from before that time (0: whatever their age is), and the oldest beyond the newest `keep_newest`
  // (0: whatever their number is); the last one always stays. In small transactions. How many were removed.
  Result<uint64_t> prune_events(int64_t older_than_ms, uint64_t keep_newest);

  // --- usage -------------------------------------------------------------------------------------------------------
  // Of the execs that ended; others' calls go on meanwhile.
  Result<UsageTotal> total_usage(const UsageFilter& filter);
  // For each sandbox or session by itself, those with a greater id than `after`, by id. Execs without a session are
  // left out where it is by session.
  enum class UsageBy { Sandbox, Session };
  Result<std::vector<UsageTotal>> usage_by(UsageBy by, const UsageFilter& filter, const std::string& after,
                                           size_t limit);
  // Of execs that ended before that time. In small transactions. How many there were.
  Result<uint64_t> prune_usage(int64_t ended_before_ms);

  // --- operations --------------------------------------------------------------------------------------------------
  Result<void> insert_operation(const OperationRecord& operation);  // Exists
  // Replaces all but id, project, kind, target and created_ms; nothing happens where it is gone.
  Result<void> update_operation(const OperationRecord& operation);
  // An empty project means any. NotFound.
  Result<OperationRecord> find_operation(const std::string& project, const std::string& id);
  // Empty means any.
  struct OperationFilter {
    std::string project;
    std::string state;
    std::string kind;
  };
  // In the order of (created_ms, id), as with sandboxes.
  Result<std::vector<OperationRecord>> list_operations(const OperationFilter& filter, const std::string& after,
                                                       size_t limit);
  // That those on record as running have failed: the server that ran them is gone. How many there were.
  Result<uint64_t> interrupt_operations(const std::string& error, int64_t time_ms);
  // Those that ended before that time; how many there were.
  Result<uint64_t> prune_operations(int64_t ended_before_ms);

  // --- networks (policies and rules survive a power cut) -------------------------------------------------------------
  // In place of what there is.
  Result<uint64_t> put_network_policy(const NetworkPolicyRecord& policy, std::span<const EventDraft> events);
  Result<std::optional<NetworkPolicyRecord>> find_network_policy(const std::string& project, const std::string& agent);
  // By agent.
  Result<std::vector<NetworkPolicyRecord>> list_network_policies(const std::string& project);
  // NotFound where there is no such project; one that is there stays as it is. An empty subject means any.
  Result<uint64_t> put_network_rule(const NetworkRuleRecord& rule, std::span<const EventDraft> events);
  Result<std::vector<NetworkRuleRecord>> list_network_rules(const std::string& project, const std::string& subject);
  // NotFound.
  Result<uint64_t> remove_network_rule(const NetworkRuleRecord& rule, std::span<const EventDraft> events);
  // In place of the one of that id. NotFound where the sandbox is gone.
  Result<uint64_t> put_network_request(const NetworkRequestRecord& request, std::span<const EventDraft> events);
  Result<std::vector<NetworkRequestRecord>> list_network_requests(const std::string& sandbox_id);  // oldest first
  Result<void> remove_network_request(const std::string& id);

  // --- keys, projects, secrets (these survive a power cut) ---------------------------------------------------------
  // Exists where the id is taken, NotFound where there is no such project.
  Result<uint64_t> insert_key(const KeyRecord& key, std::span<const EventDraft> events);
  // Revoked and expired ones too. NotFound.
  Result<KeyRecord> find_key(const std::string& id);
  // Oldest first; an empty project means all.
  Result<std::vector<KeyRecord>> list_keys(const std::string& project);
  // NotFound; revoking one that is revoked changes nothing and appends nothing.
  Result<uint64_t> revoke_key(const std::string& id, int64_t revoked_ms, std::span<const EventDraft> events);

  // kDefaultProject is always there.
  Result<uint64_t> insert_project(const ProjectRecord& project, std::span<const EventDraft> events);  // Exists
  Result<uint64_t> update_project(const ProjectRecord& project, std::span<const EventDraft> events);  // the quotas
  // With its keys. Conflict where it still has sandboxes, Denied for kDefaultProject, NotFound.
  Result<uint64_t> remove_project(const std::string& id, std::span<const EventDraft> events);
  Result<ProjectRecord> find_project(const std::string& id);
  Result<std::vector<ProjectRecord>> list_projects();  // by id

  // Makes or replaces it, by project, agent and name; created_ms stays. NotFound where there is no such project.
  Result<uint64_t> put_secret(const SecretRecord& secret, std::span<const EventDraft> events);
  // Oldest first; an empty project means all.
  Result<std::vector<SecretRecord>> list_secrets(const std::string& project);
  Result<SecretRecord> find_secret(const std::string& project, const std::string& agent,
                                   const std::string& name);  // NotFound
  // NotFound.
  Result<uint64_t> remove_secret(const std::string& project, const std::string& agent, const std::string& name,
                                 std::span<const EventDraft> events);
  Result<std::optional<SecretSeed>> secret_seed();
  // The seed, and what is sealed in these records: all of it or nothing.
  Result<void> reseal_secrets(const SecretSeed& seed, std::span<const SecretRecord> secrets);

  // 32 random bytes, made at the first call with this name and the same ever after.
  Result<std::string> secret(const std::string& name);

  // Sees to it that what was written before reaches the disk (fsync), and keeps the journal short; other calls
  // go on meanwhile. To be called every few seconds by whoever keeps house; where nobody does, a change pays for it now
  // and then.
  Result<void> checkpoint();

 private:
  // What a change is called in crash points, and what it must survive.
  enum class Survives { Kill, PowerCut };
  struct Kind {
    std::string_view name;
    Survives survives = Survives::Kill;
  };

  Store();
  using Apply = std::function<Result<void>()>;

  Result<void> open_database();
  // `apply` and the events, both or neither.
  Result<uint64_t> change(Kind kind, std::span<const EventDraft> events, const Apply& apply);
  Result<uint64_t> commit(Kind kind, std::span<const EventDraft> events, const Apply& apply);
  Result<uint64_t> append(std::span<const EventDraft> events);
  Result<uint64_t> prune_usage_batch(int64_t ended_before_ms);
  Result<uint64_t> prune_event_batch(int64_t older_than_ms, uint64_t keep_newest);

  std::string folder_;
  UniqueFd lock_;
  std::mutex mutex_;  // of database_ and what belongs to it
  std::unique_ptr<Database> database_;
  std::mutex reader_mutex_;  // of reader_; never taken together with mutex_
  std::unique_ptr<Database> reader_;
  std::mutex checkpoint_mutex_;  // of checkpointer_; never taken together with mutex_
  std::unique_ptr<Database> checkpointer_;
  UniqueFd journal_;
  std::atomic<int> journal_pages_{0};
  std::atomic<uint64_t> last_event_{0};
  std::function<void()> hook_;
};

// The place of a record in its list, for `after`.
std::string cursor(const SandboxRecord& sandbox);
std::string cursor(const ExecRecord& exec);
std::string cursor(const SessionRecord& session);
std::string cursor(const OperationRecord& operation);

}  // namespace cove
