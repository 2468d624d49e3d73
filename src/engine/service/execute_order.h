#pragma once

#include <optional>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "config/config.h"
#include "engine/sandbox_info.h"
#include "engine/session/placement.h"
#include "engine/session/session_info.h"

namespace cove::engine {

// A file that is put in before.
struct InputFile {
  std::string path;  // absolute, or below the working folder
  std::string data;
};

// Everything in one: whose sandbox, what goes in, what runs, what comes out.
struct ExecuteOrder {
  ExecOrder order;
  std::string session;       // its id; empty: none
  std::optional<Mode> mode;  // of this call
  SessionOrder place;        // without a session: whose sandbox, and how it is to be
  bool passing = false;      // without a session: a sandbox for this call alone
  // The image's own command, or words behind its entrypoint, which may be another: the sandbox's image says the rest.
  struct Command {
    std::optional<std::vector<std::string>> entrypoint;
    std::vector<std::string> words;
  };
  std::optional<Command> command;
  std::vector<InputFile> files;
  std::optional<std::vector<std::string>> outputs;  // patterns; nothing: whatever was made or changed
};

// What decides where it runs. `session` is the one that it names, if any.
Circumstances circumstances_of(const ExecuteOrder& order, const SessionInfo* session, const Caller& caller,
                               const Config& config);

// The same of an exec in a session. On the host only one can run that its caller waits for.
enum class WaitedFor { No, Yes };
Circumstances circumstances_of(const ExecOrder& order, const SessionInfo& session, WaitedFor waited_for,
                               const Caller& caller, const Config& config);

}  // namespace cove::engine
