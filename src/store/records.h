#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What the store keeps, as plain values. Times are milliseconds since 1970, UTC; 0 means "none" or "not yet".
// Texts called JSON are opaque to the store.
namespace cove {

inline constexpr const char* kDefaultProject = "default";

struct SandboxRecord {
  std::string id;
  std::string project = kDefaultProject;
  std::string name;   // unique in its project, unless empty
  std::string state;  // "creating", "running", …
  std::string reason;
  std::string spec;  // JSON
  int64_t created_ms = 0;
  int64_t started_ms = 0;
  int64_t last_used_ms = 0;
  int64_t expires_ms = 0;
  int64_t updated_ms = 0;
  std::string binding;  // whom it serves: "session:ID", "agent:NAME", "shared"; unique in its project, unless empty

  bool operator==(const SandboxRecord&) const = default;
};

inline constexpr const char* kExecRunning = "running";
inline constexpr const char* kExecEnded = "ended";

struct ExecRecord {
  std::string id;
  std::string sandbox_id;
  std::string state = kExecRunning;  // kExecRunning or kExecEnded
  std::string tag;
  std::string spec;    // JSON
  std::string result;  // JSON, or empty
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
  uint64_t position = 0;  // how far its output has been taken in
  std::string session;    // that it was started in, or empty

  bool operator==(const ExecRecord&) const = default;
};

// A sandbox that is gone, whose ended execs are still on record.
struct RemovedSandbox {
  std::string id;
  std::string project = kDefaultProject;
  int64_t removed_ms = 0;
  uint64_t bytes = 0;  // what is kept of its execs: logs and records

  bool operator==(const RemovedSandbox&) const = default;
};

// What an exec used, or several together: sums, and the highest peak.
struct UsageFigures {
  uint64_t duration_ms = 0;
  uint64_t cpu_user_ms = 0;
  uint64_t cpu_system_ms = 0;
  uint64_t memory_peak_bytes = 0;
  uint64_t disk_written_bytes = 0;
  uint64_t io_read_bytes = 0;
  uint64_t io_write_bytes = 0;
  uint64_t net_in_bytes = 0;
  uint64_t net_out_bytes = 0;
  uint64_t output_bytes = 0;

  bool operator==(const UsageFigures&) const = default;
};

// How a figure of several execs comes from theirs.
enum class Aggregate { Sum, Max };
struct UsageField {
  const char* name;
  uint64_t UsageFigures::* figure;
  Aggregate aggregate = Aggregate::Sum;
};
inline constexpr UsageField kUsageFields[] = {
    {"duration_ms", &UsageFigures::duration_ms},
    {"cpu_user_ms", &UsageFigures::cpu_user_ms},
    {"cpu_system_ms", &UsageFigures::cpu_system_ms},
    {"memory_peak_bytes", &UsageFigures::memory_peak_bytes, Aggregate::Max},
    {"disk_written_bytes", &UsageFigures::disk_written_bytes},
    {"io_read_bytes", &UsageFigures::io_read_bytes},
    {"io_write_bytes", &UsageFigures::io_write_bytes},
    {"net_in_bytes", &UsageFigures::net_in_bytes},
    {"net_out_bytes", &UsageFigures::net_out_bytes},
    {"output_bytes", &UsageFigures::output_bytes},
};

// That an exec has ended, and what it used. It stays when the exec and its sandbox are gone.
struct UsageRecord {
  std::string project = kDefaultProject;
  std::string sandbox_id;
  std::string session;  // or empty
  std::string exec_id;
  std::string context_id;  // of code in a context: the exec that is its interpreter; or empty
  std::string status;      // "success", "timeout", …; "failed" where Cove could not run it
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
  UsageFigures figures;
};

// Which execs; what is empty or 0 leaves nothing out.
struct UsageFilter {
  std::string project;
  std::string sandbox_id;
  std::string session;
  std::string agent;  // of the session
  int64_t since_ms = 0;
  int64_t until_ms = 0;  // ended before this
};

struct UsageTotal {
  std::string of;  // the sandbox or the session; empty where it is of all
  uint64_t execs = 0;
  UsageFigures figures;

  bool operator==(const UsageTotal&) const = default;
};

inline constexpr const char* kOperationRunning = "running";

// Long work on behalf of a caller.
struct OperationRecord {
  std::string id;
  std::string project = kDefaultProject;
  std::string kind;                       // "pull", "load", …
  std::string target;                     // of what: an image's name, a folder
  std::string state = kOperationRunning;  // or "succeeded", "failed", "cancelled"
  std::string progress = "{}";            // JSON
  std::string result;                     // JSON, or empty
  std::string error;                      // JSON, or empty
  uint64_t version = 1;                   // rises with each change that is seen
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  int64_t ended_ms = 0;

  bool operator==(const OperationRecord&) const = default;
};

inline constexpr const char* kSessionActive = "active";
inline constexpr const char* kSessionEnded = "ended";

struct SessionRecord {
  std::string id;
  std::string project = kDefaultProject;
  std::string agent;                   // or empty
  std::string scope;                   // "session", "agent", "shared"
  std::string state = kSessionActive;  // kSessionActive or kSessionEnded
  std::string reason;                  // why it ended
  std::string sandbox_id;              // empty until its first use, and again when that sandbox is gone
  std::string spec;                    // JSON
  int64_t idle_ms = 0;                 // it ends when it was not used for so long; 0: never by itself
  int64_t created_ms = 0;
  int64_t last_used_ms = 0;
  int64_t ended_ms = 0;

  bool operator==(const SessionRecord&) const = default;
};

// Which events; what is empty or 0 leaves nothing out.
struct EventFilter {
  std::string project;
  std::vector<std::string> kinds;  // "exec.ended", or "exec" for all of its kinds
  std::string sandbox_id;
  std::string session;
  std::string agent;  // of the session
  int64_t since_ms = 0;
  int64_t until_ms = 0;  // before this

  bool operator==(const EventFilter&) const = default;
};

// An event that is to be appended. time_ms 0: the time of appending. It belongs to the session that its data names.
struct EventDraft {
  std::string kind;  // "sandbox.created"
  std::string project = kDefaultProject;
  std::string sandbox_id;
  std::string exec_id;
  std::string actor;
  std::string data = "{}";  // JSON
  int64_t time_ms = 0;
};

struct EventRecord {
  uint64_t seq = 0;  // 1, 2, 3 …
  int64_t time_ms = 0;
  std::string kind;
  std::string project;
  std::string sandbox_id;
  std::string exec_id;
  std::string actor;
  std::string data;

  bool operator==(const EventRecord&) const = default;
};

// A key of the API. The key itself is kept nowhere: see auth/keys.h for salt and hash.
struct KeyRecord {
  std::string id;
  std::string name;
  std::string project = kDefaultProject;
  std::string scopes;  // "read,run"
  std::string salt;    // hexadecimal
  std::string hash;    // hexadecimal
  int64_t created_ms = 0;
  int64_t expires_ms = 0;
  int64_t revoked_ms = 0;

  bool operator==(const KeyRecord&) const = default;
};

// A secret of a project, or of one agent in it. What it is worth is sealed: see secret/secrets.h.
struct SecretRecord {
  std::string project = kDefaultProject;
  std::string agent;
  std::string name;
  std::string use;          // "env"
  std::string hosts;        // JSON
  std::string places;       // JSON
  std::string placeholder;  // of a brokered one
  std::string sealed;       // bytes
  int64_t created_ms = 0;
  int64_t updated_ms = 0;

  bool operator==(const SecretRecord&) const = default;
};

// The seed of all that is derived for secrets, sealed with their key, and which key that is.
struct SecretSeed {
  std::string key_id;
  std::string sealed;  // bytes

  bool operator==(const SecretSeed&) const = default;
};

struct ProjectRecord {
  std::string id;
  std::string quotas = "{}";  // JSON
  int64_t created_ms = 0;

  bool operator==(const ProjectRecord&) const = default;
};

// A bound of a project's sandboxes, or of those of one of its agents. Without a project: the server's.
struct NetworkPolicyRecord {
  std::string project;
  std::string agent;
  uint64_t version = 0;
  std::string policy;  // JSON

  bool operator==(const NetworkPolicyRecord&) const = default;
};

// A rule that was approved for good, for sandboxes of a subject: "agent:NAME", "image:NAME".
struct NetworkRuleRecord {
  std::string project = kDefaultProject;
  std::string subject;
  std::string rule;
  std::string actor;
  int64_t created_ms = 0;

  bool operator==(const NetworkRuleRecord&) const = default;
};

struct NetworkRequestRecord {
  std::string id;
  std::string sandbox_id;
  int64_t created_ms = 0;
  std::string request;  // JSON

  bool operator==(const NetworkRequestRecord&) const = default;
};

// A request with an Idempotency-Key: that it was begun, what it has made, and what it was answered.
struct Idempotency {
  std::string project = kDefaultProject;
  std::string key;
  std::string request_hash;
  std::string made;  // the id of the sandbox or exec that it has made; empty where that is not on record
  int64_t time_ms = 0;
  int status = 0;       // of the answer; 0 while there is none
  std::string headers;  // of the answer: JSON
  std::string body;

  bool operator==(const Idempotency&) const = default;
};

struct StateCount {
  std::string project;
  std::string state;
  uint64_t count = 0;

  bool operator==(const StateCount&) const = default;
};

}  // namespace cove
