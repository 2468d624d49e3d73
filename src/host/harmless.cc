#include "host/harmless.h"

#include <algorithm>

#include "base/text.h"
#include "base/unique_fd.h"
#include "host/harmless_arguments.h"
#include "host/harmless_paths.h"
#include "host/harmless_table.h"
#include "host/harmless_words.h"
#include "sys/file.h"

namespace cove {
namespace {

using namespace harmless;

// Rejects requests with parts that would not reach the command on the host or that change its behaviour.
Result<void> check_circumstances(const HostCommand& command) {
  if (!command.language.empty()) return fail(Code::Invalid, "code is always sandboxed");
  if (!command.env.empty()) return fail(Code::Invalid, "it has environment variables");
  if (command.has_stdin) return fail(Code::Invalid, "it has input");
  if (command.pty) return fail(Code::Invalid, "it needs a terminal");
  if (command.argv.empty() == command.shell.empty()) return fail(Code::Invalid, "it is not a single command");
  if (!command.workspace.starts_with('/') || command.workspace == "/")
    return fail(Code::Invalid, "there is no workspace");
  return {};
}

Result<std::vector<std::string>> words_of(const HostCommand& command) {
  std::vector<std::string> words = command.argv;
  if (words.empty()) words = COVE_TRY(split_plain_words(command.shell));
  COVE_TRY(check_words(words));
  if (words.empty() || words[0].empty()) return fail(Code::Invalid, "there is no command");
  return words;
}

Result<const Rule*> rule_for(const std::string& program, const HostCommand& command) {
  const Rule* rule = find_rule(program);
  if (rule == nullptr) return fail(Code::Invalid, concat("'", program, "' is not on the list"));
  bool elsewhere = !command.seen_at.empty() && command.seen_at != command.workspace;
  if (rule->tells_folder && elsewhere)
    return fail(Code::Invalid, concat(program, " prints the path of the workspace, which differs in the sandbox"));
  return rule;
}

Result<Place> open_place(const HostCommand& command, UniqueFd& opened) {
  Place place;
  place.folder = command.folder;
  place.workspace = command.workspace;
  while (place.workspace.ends_with('/')) place.workspace.pop_back();
  if (place.folder < 0) {
    opened = COVE_TRY(sys::open(place.workspace, O_PATH | O_DIRECTORY));
    place.folder = opened.get();
  }
  place.below = COVE_TRY(find_below(place.folder, place.workspace, command.seen_at, command.cwd));
  return place;
}

Result<std::vector<std::string>> full_argv(const Rule& rule, const std::vector<std::string>& words) {
  std::string runs(rule.runs.empty() ? rule.name : rule.runs);
  std::vector<std::string> argv = {COVE_TRY(find_trusted_program(runs))};
  if (!rule.always.empty())
    for (std::string& word : split(rule.always, ' ')) argv.push_back(std::move(word));
  argv.insert(argv.end(), words.begin() + 1, words.end());
  return argv;
}

Result<void> judge_into(const HostCommand& command, HarmlessVerdict& verdict) {
  COVE_TRY(check_circumstances(command));
  std::vector<std::string> words = COVE_TRY(words_of(command));
  verdict.program = words[0];
  const Rule* rule = COVE_TRY(rule_for(words[0], command));
  std::vector<PathOperand> paths = COVE_TRY(read_arguments(*rule, {words.begin() + 1, words.end()}));
  UniqueFd opened;
  Place place = COVE_TRY(open_place(command, opened));
  COVE_TRY(check_mounts(place.workspace));
  COVE_TRY(check_paths(place, paths, rule->most_bytes));
  verdict.argv = COVE_TRY(full_argv(*rule, words));
  verdict.folder = place.below;
  verdict.names = rule->names;
  return {};
}

}  // namespace

HarmlessVerdict judge(const HostCommand& command) {
  HarmlessVerdict verdict;
  Result<void> judged = judge_into(command, verdict);
  verdict.harmless = judged.has_value();
  verdict.why = judged ? concat(verdict.program, " only reads, and only in the workspace") : judged.error().message();
  return verdict;
}

}  // namespace cove
