#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/words.h"
#include "model/limits.h"
#include "model/sandbox.h"

// Shared by `cove exec` and `cove session exec`.
namespace cove::cli {

struct ExecOrder : CommonOrder {
  bool input = false;  // requested explicitly
  bool terminal = false;
  bool detach = false;
  Environment env;
  Environment file_environment;
  std::vector<std::string> secrets;
  std::string language;  // of --lang
  std::string cwd;
  std::string user;
  std::string tag;
  Limits limits;
  std::optional<NetworkTier> tier;
};

inline Limits& limits_of(ExecOrder& order) { return order.limits; }
inline std::vector<std::string>& secrets_of(ExecOrder& order) { return order.secrets; }

std::span<const Option<ExecOrder>> exec_options();

// The words after the sandbox or session. Invalid if a word cannot be sent.
Result<std::vector<std::string>> command_of(const std::vector<std::string>& operands);
// The body of the request. With --lang, the command is a file of code, or - for standard input, and its arguments.
// Invalid, or the error of reading the file.
Result<Json> exec_body(const ExecOrder& order, const std::vector<std::string>& command);
// Whether standard input is left for the command to read.
bool forwards_input(const ExecOrder& order, const std::vector<std::string>& command);

// Prints the result in the requested form; returns the exit code. `sandbox`: as the caller named it.
int finish_exec(const ExecOrder& order, const std::string& sandbox, const Result<Json>& result);
// Prints the exec that was left running.
int finish_detached(const ExecOrder& order, const Result<Json>& started);

}  // namespace cove::cli
