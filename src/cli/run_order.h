#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "model/maxima.h"
#include "run/run_once.h"

namespace cove::cli {

enum class Output { Plain, AsJson };

// Which process creates the sandbox: this one or a server; Either if not specified.
enum class Route { Either, Direct, Server };

// The parsed command line of `cove run`.
struct RunOrder {
  RunRequest request;
  Output output = Output::Plain;
  Route route = Route::Either;
  bool help = false;
  std::optional<std::string> language;  // of --lang
  std::string size;                     // of --size
  Environment file_environment;         // of --env-file; --env overrides it
  NetworkWords network;                 // of --network, --allow and --block
  std::string results;                  // the folder of --results, or empty
  bool code_from_stdin = false;         // "cove run --lang python -"
};

inline SandboxSpec& sandbox_of(RunOrder& order) { return order.request.sandbox; }

// Calls `maxima` only if a limit is named. Errors in the words, or in the files they name, are reported here, before
// anything starts.
Result<RunOrder> parse_run(const std::vector<std::string>& args, Maxima (*maxima)());

// The path inside for code from standard input, with the name that the language requires.
std::string place_of_code(const LanguageTable& languages, const std::string& language, const std::string& code);

// The options.
std::span<const Option<RunOrder>> run_options();

}  // namespace cove::cli
