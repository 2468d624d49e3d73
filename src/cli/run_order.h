#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "model/maxima.h"
#include "run/run_once.h"

namespace cove::cli {

enum class Output { Plain, AsJson };

// Who makes the sandbox: this process, or a server; Either where it was not said.
enum class Route { Either, Direct, Server };

// What the words after `cove run` ask for.
struct RunOrder {
  RunRequest request;
  Output output = Output::Plain;
  Route route = Route::Either;
  bool help = false;
  std::optional<std::string> language;  // of --lang
  std::string size;                     // of --size
  Environment file_environment;         // of --env-file; --env goes before it
  std::string results;                  // the folder of --results, or empty
  bool code_from_stdin = false;         // "cove run --lang python -"
};

inline SandboxSpec& sandbox_of(RunOrder& order) { return order.request.sandbox; }

// `maxima` is asked only where a limit is named. Whatever is wrong with the words, or with the files that they name,
// is told here, before anything starts.
Result<RunOrder> parse_run(const std::vector<std::string>& args, Maxima (*maxima)());

// Where code goes that came on standard input, inside: named as the language wants it.
std::string place_of_code(const LanguageTable& languages, const std::string& language, const std::string& code);

// The flags themselves.
std::span<const Option<RunOrder>> run_options();

}  // namespace cove::cli
