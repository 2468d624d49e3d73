// Code that runs in a context.
#include "api/rest/context_code.h"

#include <algorithm>
#include <chrono>

#include "api/rest/context_outcomes.h"
#include "api/rest/contexts.h"
#include "api/rest/exec_request.h"
#include "api/rest/query.h"
#include "api/rest/sse.h"
#include "base/text.h"
#include "engine/clock.h"
#include "model/json.h"

namespace cove::api {
namespace {

using engine::ContextInfo;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kTurn(1000);
constexpr milliseconds kShortestTurn(100);
constexpr int kTries = 3;

std::string event_of(uint64_t seq, const engine::KernelMessage& message) {
  Json data = {{"seq", seq}};
  const std::string type = message.type();
  if (message.is_output()) data["text"] = message.text("text");
  if (type == "result") {
    data["main"] = message.body.value("main", false);
    data["formats"] = message.body.value("formats", Json::object());
    if (message.body.contains("display_id")) data["display_id"] = message.text("display_id");
    if (message.body.value("update", false)) data["update"] = true;
  }
  if (type == "error")
    for (const char* name : {"name", "value", "traceback"}) data[name] = message.text(name);
  return sse_event(seq, type, dump(data));
}

// Whose code it is has work here: his session is in use as long.
class Presence {
 public:
  Presence(Call& call, const engine::SessionInfo* session) : call_(call), session_(session) {
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
  const engine::SessionInfo* session_;
  milliseconds beat_ = kTurn;
  Clock::time_point told_ = Clock::now();
};

// Runs one execution to its end, or to that of its caller.
class Runner {
 public:
  Runner(Call& call, engine::Execution& execution, Outcomes& its_outcomes, const Limits& limits,
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
    Result<std::vector<engine::KernelMessage>> messages = execution_.next();
    if (!messages) return lose();
    for (engine::KernelMessage& message : *messages) {
      const bool told = stream_ && is_event(message);
      const std::string event = told ? event_of(++seq, message) : "";
      outcomes.take(std::move(message));
      if (told && !stream_->send(event)) return false;
    }
    return true;
  }

  // What is printed after too much was is not told.
  bool is_event(const engine::KernelMessage& message) const {
    if (message.is_output()) return !outcomes.wrote_too_much();
    return message.type() == "result" || message.type() == "clear" || message.type() == "error";
  }

  // Where the interpreter has not ended, what it says cannot be understood any more.
  bool lose() {
    if (execution_.interpreter().state == engine::ExecState::Running) (void)execution_.kill();
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
    deadline_ = Clock::now() + limits_.grace.value;
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
  engine::Execution& execution_;
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
engine::ContextOrder default_order(const std::string& language, const CodePlace& place) {
  engine::ContextOrder order;
  order.language = language;
  order.name = concat(kDefaultContexts, language);
  if (!place.session) return order;
  engine::ExecOrder in_session = engine::order_in_session(*place.session, engine::ExecOrder());
  order.env = in_session.spec.env;
  order.session = in_session.session;
  if (place.session->order.scope != engine::SessionScope::Session) order.name += concat("/", order.session);
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

// A version that is named may be the one that the language's usual context has.
Result<ContextInfo> default_context(Call& call, const LanguageWish& wish, const CodePlace& place,
                                    const std::string& sandbox) {
  if (!wish.version.empty()) {
    Result<ContextInfo> usual = call.api.contexts.find(call.caller, sandbox, default_order(wish.name, place).name);
    if (usual && check_language(call, *usual, wish)) return usual;
  }
  return call.api.contexts.find_or_create(call.caller, sandbox, default_order(to_text(wish), place));
}

Result<ContextInfo> context_for(Call& call, const CodeRequest& request, const CodePlace& place,
                                const std::string& sandbox) {
  if (request.context == kDefaultContext)
    return default_context(call, request.language.value_or(LanguageWish{kUsualLanguage, ""}), place, sandbox);
  if (request.language)
    COVE_TRY(check_language(call, COVE_TRY(call.api.contexts.find_any(call.caller, sandbox, request.context)),
                            *request.language));
  return call.api.contexts.find_or_revive(call.caller, sandbox, request.context);
}

// Whoever ends the session ends the contexts that he finds: one of its own that came after that look ends here.
Result<void> check_session(Call& call, const CodePlace& place, const ContextInfo& context) {
  if (!place.session) return {};
  Result<engine::SessionInfo> now = call.api.sessions->use(call.caller, place.session->id);
  if (now) return {};
  if (context.name.ends_with("/" + place.session->id))
    static_cast<void>(call.api.contexts.remove(call.caller, context.sandbox_id, context.id));
  return fail(std::move(now.error()));
}

struct Entered {
  ContextInfo context;
  std::unique_ptr<engine::Execution> execution;  // none where it did not come to its turn
  bool late = false;                             // because the context was not there in time
  Usage before = {};
};

Result<Entered> enter_once(Call& call, const std::string& code, const engine::TurnWait& wait, Entered entered) {
  entered.late = wait.until && Clock::now() >= *wait.until;
  entered.execution = COVE_TRY(call.api.contexts.enter(call.caller, entered.context, wait));
  entered.before = usage_now(call, entered.context.sandbox_id);
  if (entered.execution) COVE_TRY(entered.execution->begin(code));
  return entered;
}

// Whoever has named a context, and not one interpreter of it, may have waited for one that has gone meanwhile.
Result<Entered> enter_context(Call& call, const CodeRequest& request, const CodePlace& place,
                              const std::string& sandbox, const engine::TurnWait& wait) {
  for (int i = 0;; ++i) {
    ContextInfo context = COVE_TRY(context_for(call, request, place, sandbox));
    COVE_TRY(check_session(call, place, context));
    Result<Entered> entered = enter_once(call, request.order.code, wait, {.context = context});
    if (entered || i == kTries || request.context == context.id ||
        call.api.contexts.find(call.caller, sandbox, context.id))
      return entered;
  }
}

}  // namespace

bool names_context(const Json& body) {
  return body.is_object() && body.contains("context") && !body["context"].is_null();
}

Checked<CodeRequest> read_code(Call& call, const Json& body) {
  CodeRequest request;
  request.streamed = accepts(call.request(), kEventStream);
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  if (!request.streamed && !wait)
    return invalid(
        "code in a context is waited for to its end (?wait=true) or streamed (Accept: text/event-stream): code that "
        "no one waits for is interrupted");
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
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, place.sandbox));
  const std::string& id = sandbox.spec.id;
  // A time-out that comes with the code counts from now on; others are for the code alone.
  const Clock::time_point asked = Clock::now();
  std::optional<Clock::time_point> deadline;
  if (request.order.limits.timeout.named && request.order.limits.timeout.value.count() > 0)
    deadline = asked + request.order.limits.timeout.value;
  if (place.session) request.order = engine::order_in_session(*place.session, std::move(request.order));
  const Limits limits = engine::limits_in_force(sandbox.spec.limits, request.order);
  Presence presence(call, place.session);
  auto [context, execution, late, before] =
      COVE_TRY(enter_context(call, request, place, id, {deadline, [&] { return presence.lasts(); }}));
  if (!execution && !presence.lasts()) return {};
  // What was not run took the time that it waited.
  const Clock::time_point started = execution ? Clock::now() : asked;
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
    outcomes.started_too_late = late;
  }
  const double took = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
  const int64_t started_ms = engine::now_ms() - static_cast<int64_t>(took);
  std::string result = dump(outcomes.result(
      {execution.get(), context, place, sandbox, started_ms, took, minus(usage_now(call, id), before)}));
  call.engine().note(call.caller, "context.executed", id, context.id, "{}");
  if (!stream) return call.respond(200, result);
  if (stream->send(sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", result)))) (void)stream->end();
  return {};
}

}  // namespace cove::api
