#include <algorithm>

#include "base/text.h"
#include "cli/exec_text.h"
#include "cli/session.h"
#include "cli/session_verbs.h"
#include "cli/table.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

using client::field;
using client::text_of;

constexpr size_t kCommandWidth = 70;

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "session inspect",
    .usage = "[OPTIONS] SESSION",
    .text =
        "Shows a session and its timeline: when it started, what ran in it and with which result, and why the session\n"
        "ended. --json prints the session with its execs.",
    .least = 1,
    .most = 1,
};

// A line of the timeline. Times in RFC 3339 and in the same zone sort as text.
struct TimelineEntry {
  std::string time;
  std::string what;
};

std::string duration_of(const Json& result) {
  return concat(static_cast<int64_t>(client::number_of(result, "duration_ms")), " ms");
}

TimelineEntry entry_of(const Json& exec) {
  std::string what = concat("exec ", text_of(exec, "id"), "  ", exec_state(exec));
  if (const Json& result = field(exec, "result"); result.is_object()) what += concat(" in ", duration_of(result));
  return {text_of(exec, "started_at"), concat(what, "  ", shorten(printable(exec_command(exec)), kCommandWidth))};
}

std::vector<TimelineEntry> timeline_of(const Json& session, const std::vector<Json>& execs) {
  std::vector<TimelineEntry> entries = {{text_of(session, "created_at"), "session started"}};
  for (const Json& exec : execs) entries.push_back(entry_of(exec));
  if (std::string end = text_of(session, "ended_at"); !end.empty())
    entries.push_back({end, concat("session ended: ", printable(text_of(session, "reason")))});
  std::ranges::stable_sort(entries, {}, &TimelineEntry::time);
  return entries;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

std::string describe(const Json& session, const std::vector<Json>& execs) {
  std::string text;
  auto line = [&](std::string_view name, const std::string& value) {
    text += concat(name, ":", std::string(11 - name.size(), ' '), value, "\n");
  };
  const Json& workspace = field(session, "workspace");
  line("Session", text_of(session, "id"));
  line("State", text_of(session, "state"));
  line("Agent", or_dash(text_of(session, "agent")));
  line("Scope", text_of(session, "scope"));
  line("Mode", text_of(session, "mode"));
  line("Image", or_dash(text_of(session, "image")));
  line("Workspace", workspace.is_object()
                        ? concat(printable(text_of(workspace, "path")), " (", text_of(workspace, "access"), ")")
                        : "-");
  line("Sandbox", or_dash(text_of(session, "sandbox_id")));
  line("Expires", time_left(text_of(session, "expires_at"), std::chrono::system_clock::now()));
  text += "\nTimeline:\n";
  for (const TimelineEntry& entry : timeline_of(session, execs))
    text += concat("  ", entry.time, "  ", entry.what, "\n");
  return text;
}

int inspect(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto session = api->session(words->operands[0]);
  if (!session) return complain(session.error());
  auto execs = api->session_execs(words->operands[0]);
  if (!execs) return complain(execs.error());
  if (!words->order.json) return print(describe(*session, *execs)) ? 0 : kOwnFailure;
  (*session)["execs"] = *execs;
  return print_json(*session) ? 0 : kOwnFailure;
}

}  // namespace

Verb session_inspect_verb() {
  return {"inspect",
          "show a session and its timeline",
          inspect,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sessions};
}

}  // namespace cove::cli
