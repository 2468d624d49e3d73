// Contexts: stateful interpreters, and what runs in them.
#include "api/contexts.h"

#include <algorithm>
#include <chrono>

#include "api/call.h"
#include "api/exec_request.h"
#include "api/query.h"
#include "api/response_json.h"
#include "api/sandbox_request.h"
#include "api/sse.h"
#include "base/encoding.h"
#include "base/id.h"
#include "base/text.h"
#include "engine/live/clock.h"
#include "engine/retained.h"
#include "model/json.h"

namespace cove::api {
namespace {

using live::ContextInfo;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kUsualLanguage = "python";
constexpr const char* kDefault = "default";
constexpr const char* kDefaults = "default-";  // what their names begin with
constexpr size_t kMostResults = 256;
constexpr size_t kMostResultBytes = 32 << 20;
constexpr milliseconds kTurn(1000);
constexpr milliseconds kShortestTurn(100);

Document context_json(const ContextInfo& context) {
  return {{"id", context.id},
          {"sandbox_id", context.sandbox_id},
          {"language", context.language},
          {"version", text_or_null(context.used ? context.used->version : "")},
          {"note", text_or_null(context.used ? context.used->note : "")},
          {"name", text_or_null(context.name)},
          {"cwd", text_or_null(context.cwd)},
          {"created_at", time_json(context.created_ms)},
          {"busy", context.busy}};
}

constexpr size_t kLongestName = 64;

// With a name that somebody gives to a context; nothing where it can be had.
std::string what_is_wrong(const std::string& name) {
  auto is_control = [](char sign) { return static_cast<unsigned char>(sign) < ' ' || sign == 0x7f; };
  auto begins = [](char sign) { return (static_cast<unsigned char>(sign) & 0xc0) != 0x80; };
  if (name.contains('/') || std::ranges::any_of(name, is_control)) return "has no slash and no control characters";
  if (static_cast<size_t>(std::ranges::count_if(name, begins)) > kLongestName)
    return concat("has at most ", kLongestName, " characters");
  if (name == kDefault || name.starts_with(kDefaults))
    return concat("must be another: '", name, "' is a default context, which is made when it is first used");
  return "";
}

Result<live::ContextOrder> parse_order(const Json& body) {
  Fields fields(body);
  live::ContextOrder order;
  order.language = COVE_TRY(fields.text("language")).value_or(kUsualLanguage);
  order.name = COVE_TRY(fields.text("name")).value_or("");
  if (std::string wrong = what_is_wrong(order.name); !wrong.empty()) return fail(fields.wrong("name", wrong));
  order.cwd = COVE_TRY(fields.text("cwd")).value_or("");
  if (!order.cwd.empty() && !order.cwd.starts_with('/')) return fail(fields.wrong("cwd", "must be an absolute path"));
  order.env = COVE_TRY(take_environment(fields, "env"));
  order.user = COVE_TRY(fields.text("user")).value_or("");
  COVE_TRY(fields.finish());
  return order;
}

Outcome create_context(Call& call) {
  live::ContextOrder order = COVE_TRY(parse_order(COVE_TRY(call.body())));
  ContextInfo made = COVE_TRY(call.api.contexts.create(call.caller, call.sandbox(), order));
  return call.respond(201, dump(context_json(made)),
                      {{"Location", concat("/v1/sandboxes/", made.sandbox_id, "/contexts/", made.id)}});
}

Outcome list_contexts(Call& call) {
  Document list = Document::array();
  for (const ContextInfo& context : COVE_TRY(call.api.contexts.list(call.caller, call.sandbox())))
    list.push_back(context_json(context));
  return call.respond(200, dump({{"contexts", std::move(list)}}));
}

// Of the request's path; `default` is the one of the usual language.
std::string context_of(const Call& call) {
  const std::string& context = call.captured("context");
  return context == kDefault ? concat(kDefaults, kUsualLanguage) : context;
}

Outcome get_context(Call& call) {
  return call.respond(
      200, dump(context_json(COVE_TRY(call.api.contexts.find(call.caller, call.sandbox(), context_of(call))))));
}

Outcome delete_context(Call& call) {
  COVE_TRY(call.api.contexts.remove(call.caller, call.sandbox(), context_of(call)));
  return call.no_content();
}

Outcome restart_context(Call& call) {
  ContextInfo made = COVE_TRY(call.api.contexts.restart(call.caller, call.sandbox(), context_of(call)));
  return call.respond(200, dump(context_json(made)));
}

Outcome interrupt_context(Call& call) {
  COVE_TRY(call.api.contexts.interrupt(call.caller, call.sandbox(), context_of(call)));
  return call.no_content();
}

// --- code in a context -----------------------------------------------------------------------------------------------

std::string with_place(const CodePlace& place, const std::string& why) {
  return place.why.empty() ? why : concat(place.why, "; ", why);
}

// What one execution comes to, gathered from what its interpreter says.
class Outcomes {
 public:
  explicit Outcomes(const Limits& limits) : limits_(limits), out_(limits.retained), err_(limits.retained) {}

  void take(const Json& message) {
    std::string type = message.value("type", "");
    if (type == "stdout") take_text(out_, message.value("text", ""));
    if (type == "stderr") take_text(err_, message.value("text", ""));
    if (type == "result") take_result(message);
    if (type == "error")
      error_ = {{"name", message.value("name", "")},
                {"value", message.value("value", "")},
                {"traceback", message.value("traceback", "")}};
    if (type == "done") status_ = message.value("status", "ok");
  }
  bool done() const { return !status_.empty(); }
  // Nothing more will come.
  bool over() const { return done() || lost; }
  bool timed_out = false;
  bool begun = true;
  bool wrote_too_much() const { return limits_.output.value > 0 && written_ > limits_.output.value; }
  bool lost = false;  // the interpreter ended meanwhile

  // The ExecResult, with what only contexts have beside it. Without an execution it never came to its turn.
  Document result(const live::Execution* execution, const ContextInfo& context, const CodePlace& place,
                  const live::SandboxInfo& sandbox, int64_t started_ms, double took_ms, const Usage& usage) {
    ExecResult result;
    result.exec_id = execution ? execution->id() : make_id();
    result.sandbox_id = sandbox.spec.id;
    result.status = status();
    if (!was_stopped()) result.exit_code = result.status == ExecStatus::Success ? 0 : 1;
    result.out = out_.take();
    result.err = err_.take();
    result.started_at = std::chrono::system_clock::time_point(milliseconds(started_ms));
    result.duration_ms = took_ms;
    result.usage = usage;
    result.limits = live::enforced_for(sandbox, limits_);
    if (left_out_ > 0)
      result.denials.push_back(
          {concat("give back ", left_out_, " of the results"),
           concat("at most ", kMostResults, " are given back, and ", format_bytes(kMostResultBytes), " together")});
    result.language = context.used;
    result.why = with_place(place, why(result.status));
    Document document = Document::parse(to_json(result, JsonLayout::Line));
    if (lost) tell_end(document, execution->interpreter(), place);
    document["results"] = results_json();
    document["context_id"] = context.id;
    document["error"] = error_;
    return document;
  }

 private:
  // By us, and not by itself.
  bool was_stopped() const { return timed_out || wrote_too_much(); }
  ExecStatus status() const {
    if (wrote_too_much()) return ExecStatus::LimitExceeded;
    if (timed_out) return ExecStatus::Timeout;
    return status_ == "ok" ? ExecStatus::Success : ExecStatus::Error;
  }

  // What comes after too much is only counted.
  void take_text(Retained& stream, const std::string& text) {
    if (wrote_too_much())
      stream.skip(text.size());
    else
      stream.add(text);
    written_ += text.size();
  }

  // The main value goes before what was displayed: where there is no room for it, the last of those make it.
  void take_result(const Json& message) {
    const bool main = message.value("main", false);
    const size_t size = message.dump().size();
    while (main && !fits(size) && leave_out_displayed()) {
    }
    if (!fits(size)) {
      ++left_out_;
      return;
    }
    result_bytes_ += size;
    results_.push_back({size, main, Document::parse(message.value("formats", Json::object()).dump())});
  }
  bool fits(size_t size) const { return results_.size() < kMostResults && result_bytes_ + size <= kMostResultBytes; }
  bool leave_out_displayed() {
    auto last = std::ranges::find_if(results_.rbegin(), results_.rend(), [](const Given& each) { return !each.main; });
    if (last == results_.rend()) return false;
    result_bytes_ -= last->size;
    results_.erase(std::next(last).base());
    ++left_out_;
    return true;
  }
  Document results_json() {
    Document list = Document::array();
    for (Given& each : results_) list.push_back({{"main", each.main}, {"formats", std::move(each.formats)}});
    return list;
  }

  // Where the interpreter has gone with the code, its end is the code's.
  void tell_end(Document& document, const live::ExecInfo& interpreter, const CodePlace& place) const {
    Document end = Document::parse(interpreter.result, nullptr, false);
    if (!end.is_object()) return;
    for (const char* name : {"exit_code", "signal"}) document[name] = end[name];
    if (was_stopped()) return;
    document["status"] = end["status"];
    document["why"] = with_place(place, concat(end.value("why", ""), ", and the context's interpreter with it"));
  }

  std::string why(ExecStatus status) const {
    const char* stopped = lost ? ", and the context was lost with it" : ", and was interrupted";
    switch (status) {
      case ExecStatus::Timeout:
        if (!begun) return "its time was over before its turn in the context came: it was not run";
        return concat("it took too long", stopped);
      case ExecStatus::LimitExceeded:
        return concat("it wrote more than ", format_bytes(limits_.output.value), stopped);
      case ExecStatus::Success:
        return "it ended";
      default:
        if (status_ == "interrupted") return "it was interrupted";
        return concat("it raised ", error_.is_object() ? error_["name"].get<std::string>() : "an error");
    }
  }

  const Limits& limits_;
  Retained out_;
  Retained err_;
  uint64_t written_ = 0;
  struct Given {
    size_t size = 0;
    bool main = false;
    Document formats;
  };
  std::vector<Given> results_;
  size_t result_bytes_ = 0;
  size_t left_out_ = 0;
  Document error_;
  std::string status_;
};

std::string event_of(uint64_t seq, const Json& message) {
  Document data = {{"seq", seq}};
  std::string type = message.value("type", "");
  if (type == "stdout" || type == "stderr") data["text"] = message.value("text", "");
  if (type == "result")
    data["main"] = message.value("main", false),
    data["formats"] = Document::parse(message.value("formats", Json::object()).dump());
  if (type == "error")
    for (const char* name : {"name", "value", "traceback"}) data[name] = message.value(name, "");
  return sse_event(seq, type, dump(data));
}

// Whose code it is has work here: his session is in use as long.
class Presence {
 public:
  Presence(Call& call, const live::SessionInfo* session) : call_(call), session_(session) {
    if (session && session->order.idle.count() > 0) beat_ = std::clamp(session->order.idle / 4, kShortestTurn, kTurn);
  }
  ~Presence() { tell_now(); }
  Presence(const Presence&) = delete;

  // How often it is to be told.
  milliseconds beat() const { return beat_; }
  void tell() {
    if (Clock::now() - told_ >= beat_) tell_now();
  }
  // Whether the caller is still there.
  bool lasts() {
    tell();
    auto wake = call_.exchange.wait(-1, milliseconds(0));
    return wake != http::Exchange::Wake::Gone && wake != http::Exchange::Wake::Stopping;
  }

 private:
  void tell_now() {
    if (session_) static_cast<void>(call_.api.sessions->use(call_.caller, session_->id));
    told_ = Clock::now();
  }

  Call& call_;
  const live::SessionInfo* session_;
  milliseconds beat_ = kTurn;
  Clock::time_point told_ = Clock::now();
};

// Runs one execution to its end, or to that of its caller.
class Runner {
 public:
  Runner(Call& call, live::Execution& execution, Outcomes& its_outcomes, const Limits& limits,
         std::optional<Clock::time_point> deadline, Presence& presence, EventStream* stream)
      : call_(call),
        execution_(execution),
        limits_(limits),
        presence_(presence),
        stream_(stream),
        deadline_(deadline),
        outcomes(its_outcomes) {
    if (!deadline && limits.timeout.value.count() > 0) deadline_ = Clock::now() + limits.timeout.value;
  }

  // False where nobody is left to be told.
  bool run() {
    while (!outcomes.over()) {
      if (!take()) return false;
      if (outcomes.over()) break;
      presence_.tell();
      if (!hold_limits()) continue;
      auto wake = wait();
      server_stops_ = wake == http::Exchange::Wake::Stopping;
      if (server_stops_ || wake == http::Exchange::Wake::Gone) return false;
    }
    return true;
  }
  bool server_stops() const { return server_stops_; }

 private:
  bool take() {
    Result<std::vector<Json>> messages = execution_.next();
    if (!messages) return lose();
    for (const Json& message : *messages) {
      const bool told = !outcomes.wrote_too_much() || !is_text(message);
      outcomes.take(message);
      if (stream_ && told && message.value("type", "") != "done" && !stream_->send(event_of(++seq, message)))
        return false;
    }
    return true;
  }

  static bool is_text(const Json& message) {
    return message.value("type", "") == "stdout" || message.value("type", "") == "stderr";
  }

  // Where the interpreter has not ended, what it says cannot be understood any more.
  bool lose() {
    if (execution_.interpreter().state == live::ExecState::Running) (void)execution_.kill();
    return outcomes.lost = true;
  }

  // First an interrupt, which the code may survive; then the context goes. False where it just did.
  bool hold_limits() {
    const bool late = deadline_ && Clock::now() >= *deadline_;
    if (stopping_ && late) {
      (void)execution_.kill();
      outcomes.lost = true;
      return false;
    }
    if (stopping_ || (!late && !outcomes.wrote_too_much())) return true;
    stopping_ = true;
    outcomes.timed_out = late;
    deadline_ = Clock::now() + limits_.grace;
    (void)execution_.interrupt();
    return true;
  }

  http::Exchange::Wake wait() {
    milliseconds patience = presence_.beat();
    if (deadline_)
      patience = std::clamp(std::chrono::ceil<milliseconds>(*deadline_ - Clock::now()), milliseconds(1), patience);
    return call_.exchange.wait(execution_.fd(), patience);
  }

  Call& call_;
  live::Execution& execution_;
  const Limits& limits_;
  Presence& presence_;
  EventStream* stream_;
  std::optional<Clock::time_point> deadline_;
  bool stopping_ = false;
  bool server_stops_ = false;

 public:
  Outcomes& outcomes;
  uint64_t seq = 0;
};

Usage minus(Usage now, const Usage& before) {
  now.cpu_user_ms -= std::min(before.cpu_user_ms, now.cpu_user_ms);
  now.cpu_system_ms -= std::min(before.cpu_system_ms, now.cpu_system_ms);
  now.io_read_bytes -= std::min(before.io_read_bytes, now.io_read_bytes);
  now.io_write_bytes -= std::min(before.io_write_bytes, now.io_write_bytes);
  now.disk_written_bytes -= std::min(before.disk_written_bytes, now.disk_written_bytes);
  return now;
}

Usage usage_now(Call& call, const std::string& sandbox) {
  Result<Stats> stats = call.engine().stats(call.caller, sandbox);
  return stats ? stats->total : Usage();
}

// One for each language; in a sandbox that serves others, too, one for each session, which brings its variables.
live::ContextOrder default_order(const CodeRequest& request, const CodePlace& place) {
  live::ContextOrder order;
  order.language = request.language ? to_text(*request.language) : kUsualLanguage;
  order.name = concat(kDefaults, order.language);
  if (!place.session) return order;
  live::ExecOrder in_session = live::order_in_session(*place.session, live::ExecOrder());
  order.env = in_session.spec.env;
  order.session = in_session.session;
  if (place.session->order.scope != live::SessionScope::Session) order.name += concat("/", order.session);
  return order;
}

Result<void> check_language(Call& call, const ContextInfo& context, const LanguageWish& wish) {
  LanguageWish has = COVE_TRY(parse_language(call.engine().config().languages, context.language));
  if (context.used && !context.used->version.empty()) has.version = context.used->version;
  const bool version_fits =
      wish.version.empty() || has.version == wish.version || has.version.starts_with(wish.version + ".");
  if (has.name == wish.name && version_fits) return {};
  return fail(
      Error(Code::Conflict, concat("run ", to_text(wish), " in context ", context.id, ": it is one of ", to_text(has)))
          .hint("leave 'language' out, or use another context"));
}

Result<ContextInfo> context_for(Call& call, const CodeRequest& request, const CodePlace& place,
                                const std::string& sandbox) {
  if (request.context == kDefault)
    return call.api.contexts.find_or_create(call.caller, sandbox, default_order(request, place));
  ContextInfo context = COVE_TRY(call.api.contexts.find_or_revive(call.caller, sandbox, request.context));
  if (request.language) COVE_TRY(check_language(call, context, *request.language));
  return context;
}

}  // namespace

bool names_context(const Json& body) {
  return body.is_object() && body.contains("context") && !body["context"].is_null();
}

Checked<CodeRequest> read_code(Call& call, const Json& body) {
  CodeRequest request;
  request.streamed = accepts(call.request(), kEventStream);
  Result<bool> wait = flag_parameter(call.request(), "wait");
  if (!request.streamed && !wait.value_or(false))
    return invalid(
        "code in a context is waited for to its end (?wait=true) or streamed (Accept: text/event-stream): 'wait' can "
        "be "
        "no time, because code that nobody waits for any more is interrupted");
  COVE_TRY(std::move(wait));
  Fields fields(body);
  request.context = COVE_TRY(required(fields, "context", fields.text("context")));
  request.order.code = COVE_TRY(required(fields, "code", fields.data("code")));
  if (auto language = COVE_TRY(fields.text("language")))
    request.language = COVE_TRY(parse_language(call.engine().config().languages, *language));
  request.order.language = request.language ? request.language->name : kUsualLanguage;
  COVE_TRY(take_exec_limits(fields, request.order));
  COVE_TRY(fields.finish());
  return request;
}

Outcome run_in_context(Call& call, CodeRequest request, const CodePlace& place) {
  live::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, place.sandbox));
  const std::string& id = sandbox.spec.id;
  // A time-out that comes with the code counts from now on; others are for the code alone.
  std::optional<Clock::time_point> deadline;
  if (request.order.limits.timeout.named && request.order.limits.timeout.value.count() > 0)
    deadline = Clock::now() + request.order.limits.timeout.value;
  if (place.session) request.order = live::order_in_session(*place.session, std::move(request.order));
  const Limits limits = live::limits_in_force(sandbox.spec.limits, request.order);
  Presence presence(call, place.session);
  ContextInfo context = COVE_TRY(context_for(call, request, place, id));
  // Whoever ends the session ends the contexts that he finds: one of its own that came after that look ends here.
  if (place.session) {
    Result<live::SessionInfo> now = call.api.sessions->use(call.caller, place.session->id);
    if (!now && context.name.ends_with("/" + place.session->id))
      static_cast<void>(call.api.contexts.remove(call.caller, id, context.id));
    if (!now) return refuse(Problem(now.error()));
  }
  Usage before = usage_now(call, id);
  auto execution = COVE_TRY(call.api.contexts.execute(call.caller, context, request.order.code,
                                                      {deadline, [&] { return presence.lasts(); }}));
  if (!execution && !presence.lasts()) return {};
  int64_t started_ms = live::now_ms();
  Clock::time_point started = Clock::now();
  std::optional<EventStream> stream;
  if (request.streamed) {
    stream.emplace(call.exchange);
    if (!stream->begin()) return {};
  }
  Outcomes outcomes(limits);
  uint64_t seq = 1;
  if (execution) {
    Runner runner(call, *execution, outcomes, limits, deadline, presence, stream ? &*stream : nullptr);
    if (!runner.run()) {
      if (runner.server_stops() && !stream) return refuse(503, "unavailable", "the server stops; the code goes on");
      return {};
    }
    seq += runner.seq;
  } else {
    outcomes.timed_out = true;
    outcomes.begun = false;
  }
  double took = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
  std::string result = dump(
      outcomes.result(execution.get(), context, place, sandbox, started_ms, took, minus(usage_now(call, id), before)));
  call.engine().note(call.caller, "context.executed", id, context.id, "{}");
  if (!stream) return call.respond(200, result);
  if (stream->send(sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", result)))) (void)stream->end();
  return {};
}

void add_contexts(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/contexts", kTokenRun, create_context);
  routes.add("GET", "/v1/sandboxes/{id}/contexts", kTokenRead, list_contexts);
  routes.add("GET", "/v1/sandboxes/{id}/contexts/{context}", kTokenRead, get_context);
  routes.add("DELETE", "/v1/sandboxes/{id}/contexts/{context}", kTokenRun, delete_context);
  routes.add("POST", "/v1/sandboxes/{id}/contexts/{context}/restart", kTokenRun, restart_context);
  routes.add("POST", "/v1/sandboxes/{id}/contexts/{context}/interrupt", kTokenRun, interrupt_context);
}

}  // namespace cove::api
