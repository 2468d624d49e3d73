#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The verbs of `cove`, each in a file of its own; what follows the verb goes in, the exit code comes out.
namespace cove::cli {

using Arguments = std::vector<std::string>;

int run(const Arguments& args);
int doctor(const Arguments& args);
int version(const Arguments& args);
int help(const Arguments& args);

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*act)(const Arguments& args);
  std::string (*help)();
};
std::span<const Verb> verbs();

// All of the command line, without the program's own name.
int cove(const Arguments& args);

std::string run_help();
std::string doctor_help();
std::string version_help();
std::string help_help();
std::string cove_help();

}  // namespace cove::cli
