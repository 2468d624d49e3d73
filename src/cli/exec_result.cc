#include "cli/exec_result.h"

#include "base/text.h"
#include "cli/terminal.h"

namespace cove::cli {
namespace {

constexpr int kTimedOut = 124;
constexpr int kSignalled = 128;

// Cove's own messages for a program that was not executed start differently.
bool was_started(const Json& result) {
  int code = static_cast<int>(client::number_of(result, "exit_code"));
  if (code < kOwnFailure || code > 127) return true;
  return client::text_of(result, "why").ends_with(concat("ended with exit code ", code));
}

}  // namespace

int exit_code_of(const Json& result) {
  if (client::text_of(result, "status") == "timeout") return kTimedOut;
  if (client::field(result, "signal").is_number())
    return kSignalled + static_cast<int>(client::number_of(result, "signal"));
  if (client::field(result, "exit_code").is_number()) return static_cast<int>(client::number_of(result, "exit_code"));
  return kOwnFailure;
}

void tell_note(const Json& result) {
  std::string note = client::text_of(client::field(result, "language"), "note");
  if (!note.empty()) tell(note);
}

void explain(const Json& result) {
  std::string status = client::text_of(result, "status");
  bool at_limit = status == "timeout" || status == "oom_killed" || status == "limit_exceeded";
  if (!at_limit && was_started(result)) return;
  // Readers expect that it ran in a sandbox, so this is left out.
  std::string why = client::text_of(result, "why");
  if (why.starts_with("mode all: ") && why.contains("; ")) why.erase(0, why.find("; ") + 2);
  tell(why);
}

}  // namespace cove::cli
