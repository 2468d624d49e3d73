#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

// The verbs of `cove`, each in its own file. A verb takes the words after it and returns the exit code.
namespace cove::cli {

using Arguments = std::vector<std::string>;

// What the operands are, for shell completion.
enum class Completes {
  Nothing,
  Sandboxes,
  SandboxCommand,
  SandboxPaths,
  Sessions,
  SessionCommand,
  Files,
  Command,
  Verbs,
  Shells
};

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*act)(const Arguments& args);
  std::string (*help)();
  std::vector<OptionInfo> (*options)();
  Completes completes = Completes::Nothing;
  std::span<const Verb> (*parts)() = nullptr;  // subcommands, as in `cove fs ls`
};

// A group of verbs under one heading of the help.
struct VerbGroup {
  std::string_view heading;
  std::vector<Verb> verbs;
};
const std::vector<VerbGroup>& verb_groups();
// Null if there is no such verb.
std::optional<Verb> find_verb(std::string_view name);

// Runs a command line, without the name of the program.
int cove(const Arguments& args);

// `cove fs ls …`: runs the subcommand that the first word names.
int act_on_part(const Verb& verb, const Arguments& args);
// The help of a verb with subcommands.
std::string parts_help(const Verb& verb, std::string_view text);

Verb run_verb();
Verb create_verb();
Verb start_verb();
Verb stop_verb();
Verb pause_verb();
Verb resume_verb();
Verb renew_verb();
Verb update_verb();
Verb rm_verb();
Verb ls_verb();
Verb inspect_verb();
Verb exec_verb();
Verb shell_verb();
Verb notebook_verb();
Verb attach_verb();
Verb logs_verb();
Verb ps_verb();
Verb kill_verb();
Verb stats_verb();
Verb top_verb();
Verb ports_verb();
Verb forward_verb();
Verb session_verb();
Verb execute_verb();
Verb pull_verb();
Verb images_verb();
Verb languages_verb();
Verb image_verb();
Verb net_verb();
Verb cp_verb();
Verb fs_verb();
Verb events_verb();
Verb project_verb();
Verb key_verb();
Verb secret_verb();
Verb config_verb();
Verb serve_verb();
Verb stop_server_verb();
Verb doctor_verb();
Verb completion_verb();
Verb reclaim_verb();
Verb version_verb();
Verb help_verb();

}  // namespace cove::cli
