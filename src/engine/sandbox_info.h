#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "model/exec.h"
#include "model/sandbox.h"

namespace cove::engine {

enum class State { Creating, Running, Paused, Stopped, Deleting };
const char* state_name(State state);  // "running"
std::optional<State> parse_state(const std::string& name);

// Times are milliseconds; 0 means none.
struct Lifecycle {
  std::chrono::milliseconds idle{0};  // without use
  std::chrono::milliseconds max{0};   // since it was made, started or renewed
  OnExpire on_expire = OnExpire::Stop;
  bool auto_resume = false;
};

// Who sees what listens at a port: holders of a key of the project or of a token of the port; of a token only; anyone.
enum class PortAccess { Private, Token, Public };
const char* port_access_name(PortAccess access);  // "private"
std::optional<PortAccess> parse_port_access(std::string_view name);

struct PortRule {
  PortAccess access = PortAccess::Private;
  uint64_t generation = 0;  // counts the changes: tokens of earlier ones are not valid any more
};

// A sandbox as its users see it. Times are milliseconds since 1970; 0 means not yet or never.
struct SandboxInfo {
  SandboxSpec spec;
  std::string project;
  State state = State::Creating;
  std::string reason;  // why it is in this state, where somebody might wonder
  Lifecycle lifecycle;
  EnforcedLimits enforced;
  std::vector<std::string> warnings;
  int64_t created_ms = 0;
  int64_t started_ms = 0;
  int64_t last_used_ms = 0;
  int64_t expires_ms = 0;
  std::string binding;                         // whom it serves, where that is decided by sessions; see session_info.h
  uint64_t network_version = 1;                // of the policy in its spec: rises with each change
  std::optional<NetworkPolicy> network_asked;  // that it was made with, where it serves several and has changed
  std::map<uint16_t, PortRule> ports;          // whose access was changed
};

struct CreateOrder {
  SandboxSpec spec;  // the id is given by the engine; limits that the caller did not name are the configuration's
  Lifecycle lifecycle;
  bool start = true;
  LanguageWish language;     // that it will be used for first, where that is known: then the image may be left to it
  bool use_follows = false;  // at once, with code of that language or, without one, with a command
  std::string idempotency_key;
  std::string request_hash;       // of the body, to tell a repeated request from another with the same key
  std::string binding;            // Exists where the project has a sandbox with it
  bool network_admitted = false;  // the session that it is for was admitted with its network
  bool secrets_granted = false;   // the creator of the session may name its secrets
};

// What is to be changed; the rest stays.
struct UpdateOrder {
  std::optional<std::string> name;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<Environment> env;
  std::optional<Limits> limits;  // those that are named
  std::optional<std::chrono::milliseconds> idle;
  std::optional<std::chrono::milliseconds> max;
  std::optional<OnExpire> on_expire;
  std::optional<bool> auto_resume;
  std::optional<NetworkChange> network;
};

struct SandboxFilter {
  std::optional<State> state;
  std::string name;
  std::map<std::string, std::string> labels;
};

template <typename T>
struct Page {
  std::vector<T> items;
  std::string next;  // for `after`; empty at the end
};

enum class OnDisconnect { Kill, Keep };

// Each member has a row in order_fields.h.
struct ExecOrder {
  ExecSpec spec;         // argv, env, cwd, user, pty; the id is given by the engine. `input` false: no stdin at all
  std::string shell;     // what argv was made of, for people
  std::string language;  // of code, as the table has it; argv is the engine's to find then
  std::string version;   // that was asked for, or empty
  std::string code;      // put into a file of the sandbox before it starts
  std::string file;      // or where the code is already
  std::string beside;    // the folder to put the code into, beside the files that it needs; empty: /tmp
  std::vector<std::string> arguments;  // of the program
  std::optional<LanguageUse> used;     // the engine's answer
  Limits limits;                       // those that are named and are an exec's
  std::optional<std::string> input;    // written to it at once, then closed
  bool detached = false;
  std::string tag;
  std::string session;                    // that it is started in, or empty
  std::string context = {};               // of code in a context: its id
  std::vector<std::string> secrets = {};  // names of those that it gets besides the sandbox's
  std::string placed;                     // why it runs where it runs, for people; the result's `why` begins with it
};

// What holds for an exec: its own limits over those of its sandbox; and by what they are held, for the result.
Limits limits_in_force(const Limits& sandbox, const ExecOrder& order);
EnforcedLimits enforced_for(const SandboxInfo& sandbox, const Limits& limits);

enum class ExecState { Running, Ended };

struct ExecInfo {
  std::string id;
  std::string sandbox_id;
  ExecState state = ExecState::Running;
  ExecOrder order;  // without code and input
  int64_t started_ms = 0;
  int64_t started_us = 0;  // the same, finer
  int64_t ended_ms = 0;
  uint64_t next_seq = 1;  // the number that the next piece of output, or the end, has or will have
  // None while it runs, and where Cove itself failed to run it.
  std::optional<ExecResult> result = {};
};

struct Numbers {
  uint64_t sandboxes = 0;
  uint64_t memory = 0;  // sums of limits, in bytes
  uint64_t disk = 0;
  uint64_t logs = 0;  // output of execs that is kept
};

}  // namespace cove::engine
