#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/sandbox.h"

namespace cove::engine {

// Who shares a sandbox: one conversation, all conversations of an agent, or everybody in the project.
enum class SessionScope { Session, Agent, Shared };
const char* scope_name(SessionScope scope);  // "session"
std::optional<SessionScope> parse_session_scope(const std::string& name);

// What runs in a sandbox: everything, all but what is plainly harmless, or nothing. From strict to loose.
enum class Mode { All, Selective, Off };
const char* mode_name(Mode mode);  // "all"
std::optional<Mode> parse_mode(const std::string& name);

inline constexpr std::chrono::milliseconds kUsualIdle = std::chrono::minutes(30);

// What a session is to be. Each member has a row in order_fields.h.
struct SessionOrder {
  std::string agent;  // or empty
  SessionScope scope = SessionScope::Session;
  Mode mode = Mode::All;
  // Of the sandbox that serves it: image (empty: the usual one), workspace, limits and labels. `env` is for the
  // session's own execs: others in the same sandbox do not get it.
  SandboxSpec sandbox;
  bool runtime_named = false;                   // else the sandbox may have any
  std::chrono::milliseconds idle = kUsualIdle;  // it ends when it was not used for so long; 0: never by itself
};

enum class SessionState { Active, Ended };

// A session as its users see it. Times are milliseconds since 1970; 0 means not yet.
struct SessionInfo {
  std::string id;
  std::string project;
  SessionOrder order;
  SessionState state = SessionState::Active;
  std::string reason;      // why it ended
  std::string sandbox_id;  // empty until its first use
  int64_t created_ms = 0;
  int64_t last_used_ms = 0;
  int64_t ended_ms = 0;
};

// Empty: any.
struct SessionFilter {
  std::string agent;
  std::optional<SessionScope> scope;
  std::optional<SessionState> state;
};

// By what the one sandbox is found that serves a scope: "session:ID", "agent:NAME", "shared".
std::string binding_of(const SessionOrder& order, const std::string& session_id);
// What a sandbox for one call alone is bound to begins so: of a call that ends with its server, and of one whose stream
// the caller may take up again from the next server.
inline constexpr std::string_view kCallBinding = "call:";
inline constexpr std::string_view kStreamBinding = "stream:";

// Whether there is a limit that the caller has named and that is held by the walls of a sandbox.
bool names_limit(const Limits& limits);

// Where what is asked for is not what the sandbox that serves the scope has, in words; empty where it is. What was not
// asked for by name may be anything.
std::string difference(const SandboxSpec& wanted, const SandboxSpec& there);

}  // namespace cove::engine
