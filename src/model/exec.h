#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/language.h"
#include "model/limits.h"
#include "model/sandbox.h"

namespace cove {

struct WindowSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};

// What code goes through; a plain command is only run.
enum class Phase { Compile, Run };
const char* phase_name(Phase phase);  // "compile", "run"

// One command in a sandbox. Each member has a row in sandbox_fields.h.
struct ExecSpec {
  std::string id;
  std::vector<std::string> argv;
  Environment env;                         // on top of the sandbox's
  std::string cwd;                         // absolute; empty: the workspace if there is one, else the home
  std::string user;                        // empty: the sandbox's
  std::optional<WindowSize> pty;           // a terminal of the sandbox's own, instead of pipes
  bool input = true;                       // false: it reads from /dev/null
  std::optional<std::string> whole_input;  // all that it will read; not with a pty
  // A command that comes before, without input; argv is executed only where it ends with 0. Both are one exec.
  std::vector<std::string> compile;
  bool no_network = false;  // it has an empty network namespace, whatever its sandbox has
  // The last argument is the path of a script that is not there yet: the program is started and waits for it.
  bool script_follows = false;
  // Nothing but who runs it is known yet: argv, env and whether it reads input follow.
  bool command_follows = false;
};
inline constexpr size_t kLongestScript = 48 * 1024;  // that can follow

// What the kernel measured, never estimated.
struct Usage {
  uint64_t cpu_user_ms = 0;
  uint64_t cpu_system_ms = 0;
  uint64_t memory_peak_bytes = 0;
  uint64_t disk_written_bytes = 0;  // growth of the writable layer
  uint64_t processes_peak = 0;
  uint64_t io_read_bytes = 0;
  uint64_t io_write_bytes = 0;
  uint64_t net_in_bytes = 0;
  uint64_t net_out_bytes = 0;
};

enum class ExecStatus { Success, Error, Timeout, OomKilled, Killed, LimitExceeded };
const char* status_name(ExecStatus status);  // "success", "oom_killed", …

// What is kept of a stream: all of it, or its head and its tail.
struct CapturedStream {
  std::string data;
  uint64_t bytes = 0;  // the total that the program wrote
  bool truncated = false;
};

// A file that is returned: copied to the caller's machine, or with its content.
struct OutputFile {
  std::string path;       // inside the sandbox; of one with its content: below the working folder
  std::string host_path;  // of one that was copied
  uint64_t bytes = 0;     // of the whole file
  std::optional<std::string> content = std::nullopt;
  bool truncated = false;  // `content` is only the beginning
};

// A value that code gave, in all the formats that its interpreter has for it.
struct RichResult {
  bool main = false;            // the value of the last expression; else something displayed, or a figure
  Json formats;                 // an object: texts as they are, pictures in base64
  std::string display_id = {};  // empty where it is never replaced
};

// What code in a context raised.
struct CodeError {
  std::string name;
  std::string value;
  std::string traceback;
};

// Something that the walls refused and that Cove noticed.
struct Denial {
  std::string what;
  std::string why;
  // Of what the network policy refused:
  std::string host = {};
  uint16_t port = 0;
  std::string rule = {};  // that would allow it
  std::string code = {};
  std::string hint = {};
};

// The outcome of the user's program.
struct ExecResult {
  std::string exec_id;
  std::string sandbox_id;
  ExecStatus status = ExecStatus::Success;
  Phase phase = Phase::Run;      // in which it ended
  std::optional<int> exit_code;  // none where a signal ended it
  std::optional<int> signal;
  CapturedStream out;
  CapturedStream err;
  std::chrono::system_clock::time_point started_at;
  double duration_ms = 0;
  Usage usage;
  EnforcedLimits limits;
  std::string where = "sandbox";
  std::string why;                      // of the status, in words
  std::optional<LanguageUse> language;  // of code
  bool started = true;                  // false: the program could not be executed, and `why` tells the cause
  std::vector<OutputFile> files;
  std::vector<RichResult> results;
  std::vector<Denial> denials;
  std::string context_id;          // where it is code in a context, else empty
  std::optional<CodeError> error;  // of code in a context
};

}  // namespace cove
