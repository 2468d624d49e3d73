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

// An event that is to be appended. time_ms 0: the time of appending.
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

struct ProjectRecord {
  std::string id;
  std::string quotas = "{}";  // JSON
  int64_t created_ms = 0;

  bool operator==(const ProjectRecord&) const = default;
};

// That a request with an Idempotency-Key has made a sandbox.
struct Idempotency {
  std::string project = kDefaultProject;
  std::string key;
  std::string request_hash;
  std::string sandbox_id;
  int64_t time_ms = 0;

  bool operator==(const Idempotency&) const = default;
};

struct StateCount {
  std::string project;
  std::string state;
  uint64_t count = 0;

  bool operator==(const StateCount&) const = default;
};

}  // namespace cove
