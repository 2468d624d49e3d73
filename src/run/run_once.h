#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/exec.h"
#include "model/sandbox.h"
#include "run/languages.h"

namespace cove {

struct CopyIn {
  std::string source;       // on the host, a file or a folder
  std::string destination;  // inside; empty: the working folder; a trailing '/' or an existing folder means: into it
};

// A file whose content is part of the request (a snippet of code).
struct InlineFile {
  std::string path;  // inside, absolute; it belongs to the user of the exec
  std::string data;
};

struct CopyOut {
  std::string glob;    // inside, relative to the working folder
  std::string folder;  // on the host; empty: the current one
};

// A file of code that `files` or `copy_in` copy in: the table of languages determines the command and the image.
struct RunCode {
  std::string language;  // "python@3.10"
  std::string file;      // inside, absolute
  std::vector<std::string> arguments;
};

enum class Stdio { Stream, Capture };

// One command in a temporary sandbox.
struct RunRequest {
  SandboxSpec sandbox;
  ExecSpec exec;
  std::optional<RunCode> code;  // replaces the exec's argv; if the image is empty, the language selects it
  std::vector<CopyIn> copy_in;
  std::vector<InlineFile> files;
  std::vector<CopyOut> copy_out;
  uint64_t copy_out_limit = 1 * kGiB;
  Stdio stdio = Stdio::Stream;                         // Capture: output goes only into the result
  bool interactive = true;                             // the caller's stdin is forwarded
  std::optional<std::vector<std::string>> entrypoint;  // replaces the image's; empty: none
};

using Warn = std::function<void(const std::string&)>;

// The table of languages, and the registry of image names without one.
struct RunLanguages {
  LanguageTable table;
  std::string registry;
};

// Calls `warn` once per line of warning; warnings about this machine (such as a default limit with a fallback) go to
// `tell_weakness`.
// Streams the program's output to this process's stdout and stderr and forwards INT, TERM, HUP and QUIT.
// `languages` is called only if there is code, or an image other than the host's.
Result<ExecResult> run_once(const RunRequest& request, const std::function<Result<RunLanguages>()>& languages,
                            const Warn& warn, const Warn& tell_weakness);

}  // namespace cove
