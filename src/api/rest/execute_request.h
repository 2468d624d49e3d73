#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/rest/request_json.h"
#include "config/config.h"
#include "engine/sandbox_info.h"
#include "engine/session/session_info.h"

namespace cove::api {

// A file that is put in before.
struct InputFile {
  std::string path;  // absolute, or below the working folder
  std::string data;
};

// Everything in one: whose sandbox, what goes in, what runs, what comes out.
struct ExecuteRequest {
  engine::ExecOrder order;
  std::string session;               // its id; empty: none
  std::optional<engine::Mode> mode;  // of this call
  engine::SessionOrder place;        // without a session: whose sandbox, and how it is to be
  bool passing = false;              // without a session: a sandbox for this call alone
  // The image's own command, or words behind its entrypoint, which may be another: the sandbox's image says the rest.
  struct Command {
    std::optional<std::vector<std::string>> entrypoint;
    std::vector<std::string> words;
  };
  std::optional<Command> command;
  std::vector<InputFile> files;
  std::optional<std::vector<std::string>> outputs;  // patterns; nothing: whatever was made or changed
};

// How the call is answered. What goes on after the answer has begun can be had in a stream only: a terminal, input
// that follows.
enum class ExecuteForm { Result, Stream };

// Errors are Invalid; NotFound and Unsupported as for sandboxes and execs.
Result<ExecuteRequest> parse_execute(const Json& body, const Config& config, ExecuteForm form);

// Invalid where it is not one that finds files below the working folder.
Result<void> check_pattern(const std::string& pattern);

}  // namespace cove::api
