#include <thread>

#include "base/text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "client/problem.h"

namespace cove::cli {
namespace {

constexpr int kAttempts = 50;
constexpr auto kPause = std::chrono::milliseconds(200);

struct EventsOrder : CommonOrder {
  bool follow = false;
  uint64_t after = 0;
  client::Api::EventFilter filter;
};

Result<void> set_after(EventsOrder& order, const std::string& text) {
  order.after = static_cast<uint64_t>(COVE_TRY(parse_integer(text, 0, INT64_MAX)));
  return {};
}

constexpr Option<EventsOrder> kOptions[] = {
    {{"follow", 'f', "", "wait for more events", "Options"},
     [](EventsOrder& order, const std::string&) -> Result<void> {
       order.follow = true;
       return {};
     }},
    {{"after", '\0', "NUMBER", "only events after this number", "Options"}, set_after},
    {{"type", '\0', "TYPE", "only of this type, like exec.ended, or exec for all of them\n(may be repeated)",
      "Options"},
     [](EventsOrder& order, const std::string& text) -> Result<void> {
       for (const std::string& type : split(text, ',')) order.filter.types.push_back(type);
       return {};
     }},
    {{"sandbox", '\0', "ID", "only of this sandbox", "Options"},
     [](EventsOrder& order, const std::string& text) -> Result<void> {
       order.filter.sandbox = text;
       return {};
     }},
    {{"session", '\0', "ID", "only of this session", "Options"},
     [](EventsOrder& order, const std::string& text) -> Result<void> {
       order.filter.session = text;
       return {};
     }},
    kProjectOption<EventsOrder>,
    kJsonOption<EventsOrder>,
    kHelpOption<EventsOrder>,
};

constexpr Form kForm = {
    .verb = "events",
    .usage = "[OPTIONS]",
    .text =
        "Prints events in order: sandboxes created and changed, commands, files, refusals, and who caused them. Each\n"
        "event has a number; --after continues after it. --json prints one event per line.",
};

std::string line_of(const Json& event) {
  using client::text_of;
  std::string line = concat(client::count_of(event, "seq"), "  ", printable(text_of(event, "time")), "  ",
                            printable(text_of(event, "kind")));
  for (const char* name : {"sandbox_id", "exec_id", "actor"})
    if (std::string text = text_of(event, name); !text.empty()) line += concat("  ", printable(text));
  const Json& data = client::field(event, "data");
  if (data.is_object() && !data.empty()) line += concat("  ", printable(client::dump(data)));
  return line + "\n";
}

enum class Next { GoOn, End };

// Ends when standard output is closed.
Next print_event(const EventsOrder& order, const Json& event) {
  return print(order.json ? client::dump(event) + "\n" : line_of(event)) ? Next::GoOn : Next::End;
}

Result<void> print_so_far(Api& api, EventsOrder& order) {
  while (true) {
    Json portion = COVE_TRY(api.events(order.after, order.filter));
    const Json& events = client::field(portion, "items");
    if (!events.is_array() || events.empty()) return {};
    for (const Json& event : events)
      if (print_event(order, event) == Next::End) return {};
    order.after = client::count_of(portion, "last_seq");
  }
}

// Until the stream ends; `order.after` is then the number of the last event.
Result<Next> follow(Api& api, EventsOrder& order) {
  client::EventStream stream = COVE_TRY(api.follow_events(order.after, order.filter));
  while (true) {
    Result<std::optional<client::ServerEvent>> event = stream.next();
    if (!event || !*event) return Next::GoOn;
    Json data = COVE_TRY(client::parse_json((*event)->data));
    if ((*event)->event == "error") return fail(client::read_problem(data, 500));
    if (print_event(order, data) == Next::End) return Next::End;
    order.after = client::count_of(data, "seq");
  }
}

// A new server continues where the previous one stopped.
Result<void> follow_on(EventsOrder& order) {
  int attempt = 0;
  while (true) {
    Result<Api> api = open_server(order);
    Result<Next> next = api ? follow(*api, order) : fail(std::move(api).error());
    if (next && *next == Next::End) return {};
    if (!next && next.error().code() != Code::Unavailable) return fail(std::move(next).error());
    attempt = next ? 0 : attempt + 1;
    if (attempt == kAttempts) return fail(std::move(next).error());
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> show(EventsOrder& order) {
  if (order.follow) return follow_on(order);
  Api api = COVE_TRY(open_server(order));
  return print_so_far(api, order);
}

int events(const Arguments& args) {
  auto words = read_words<EventsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto shown = show(words->order);
  return shown ? 0 : complain(shown.error());
}

}  // namespace

Verb events_verb() {
  return {"events", "show events", events, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
