#include "engine/service/context_runs.h"

#include <algorithm>
#include <chrono>

#include "base/id.h"
#include "base/text.h"
#include "engine/clock.h"
#include "engine/service/code_run.h"
#include "engine/service/execute_order.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Wake = CallerPresence::Wake;

constexpr milliseconds kBeat(1000);
constexpr milliseconds kShortestBeat(100);
constexpr int kTries = 3;

// A session is in use for as long as code of it runs, or waits for its turn.
class SessionUse {
 public:
  SessionUse(Sessions& sessions, const Caller& caller, const SessionInfo* session)
      : sessions_(sessions), caller_(caller), session_(session) {
    if (session && session->order.idle.count() > 0) beat_ = std::clamp(session->order.idle / 4, kShortestBeat, kBeat);
  }
  ~SessionUse() { tell_now(); }
  SessionUse(const SessionUse&) = delete;

  // How often it is to be told.
  milliseconds beat() const { return beat_; }
  void tell() {
    if (Clock::now() - told_ >= beat_) tell_now();
  }

 private:
  void tell_now() {
    if (session_) static_cast<void>(sessions_.use(caller_, session_->id));
    told_ = Clock::now();
  }

  Sessions& sessions_;
  const Caller& caller_;
  const SessionInfo* session_;
  milliseconds beat_ = kBeat;
  Clock::time_point told_ = Clock::now();
};

Usage minus(Usage now, const Usage& before) {
  now.cpu_user_ms -= std::min(before.cpu_user_ms, now.cpu_user_ms);
  now.cpu_system_ms -= std::min(before.cpu_system_ms, now.cpu_system_ms);
  now.io_read_bytes -= std::min(before.io_read_bytes, now.io_read_bytes);
  now.io_write_bytes -= std::min(before.io_write_bytes, now.io_write_bytes);
  now.disk_written_bytes -= std::min(before.disk_written_bytes, now.disk_written_bytes);
  return now;
}

// One for each language; in a sandbox that serves others, too, one for each session, which brings its variables.
ContextOrder default_order(const std::string& language, const SessionInfo* session) {
  ContextOrder order;
  order.language = language;
  order.name = concat(kDefaultContexts, language);
  if (!session) return order;
  ExecOrder in_session = order_in_session(*session, ExecOrder());
  order.env = in_session.spec.env;
  order.session = in_session.session;
  if (session->order.scope != SessionScope::Session) order.name += concat("/", order.session);
  return order;
}

// One piece of code, from its order to its result.
class CodeCall {
 public:
  struct Parts {
    Engine& engine;
    Sessions& sessions;
    Contexts& contexts;
    const Caller& caller;
    const SessionInfo* session;  // whose code it is, if anybody's
    CallerPresence& presence;
    RunSink* sink;
  };
  CodeCall(Parts parts, SandboxInfo sandbox, CodeOrder order)
      : parts_(parts),
        sandbox_(std::move(sandbox)),
        order_(std::move(order)),
        use_(parts.sessions, parts.caller, parts.session) {
    // A time-out that comes with the code counts from now on; others are for the code alone.
    const auto& timeout = order_.order.limits.timeout;
    if (timeout.named && timeout.value.count() > 0) deadline_ = asked_ + timeout.value;
    if (parts_.session) order_.order = order_in_session(*parts_.session, std::move(order_.order));
    limits_ = limits_in_force(sandbox_.spec.limits, order_.order);
  }

  Result<std::optional<Ran>> run() {
    Entered entered = COVE_TRY(enter());
    if (!entered.execution && !caller_lasts()) return std::nullopt;
    return entered.execution ? run(entered) : give_up(entered);
  }

 private:
  struct Entered {
    ContextInfo context;
    std::unique_ptr<Execution> execution;  // none where it did not come to its turn
    bool late = false;                     // because the context was not there in time
    Usage before = {};
    std::optional<Networks::Mark> network = {};
  };

  Result<std::optional<Ran>> run(Entered& entered) {
    const Clock::time_point started = Clock::now();
    Execution& execution = *entered.execution;
    auto stop = std::make_shared<CodeStop>(
        COVE_TRY(parts_.engine.find_exec(parts_.caller, id(), entered.context.id, Scope::Run)));
    std::unique_ptr<CodeRecord> record = COVE_TRY(put_on_record(entered, execution.id(), stop));
    CodeOutcomes outcomes(limits_);
    CodeRunner runner({.execution = execution,
                       .outcomes = outcomes,
                       .record = *record,
                       .stop = *stop,
                       .presence = parts_.presence,
                       .sink = parts_.sink,
                       .limits = limits_,
                       .deadline = deadline_,
                       .in_use = [this] { use_.tell(); },
                       .beat = use_.beat()});
    const bool begun = !parts_.sink || parts_.sink->begin({.exec_id = execution.id(), .sandbox = &sandbox_});
    const CodeRunner::End end = begun ? runner.run() : CodeRunner::End::Left;
    outcomes.abandoned = end != CodeRunner::End::Over;
    Ran ran = finish(entered, execution.id(), outcomes, started, *record);
    ran.seq = runner.events() + 1;
    if (end == CodeRunner::End::Over) return ran;
    if (end == CodeRunner::End::Stopping && !parts_.sink)
      return fail(Code::Unavailable, "the server stops, and the code is interrupted");
    return std::nullopt;
  }

  // What was not run took the time that it waited.
  Result<std::optional<Ran>> give_up(Entered& entered) {
    const std::string exec_id = make_id();
    std::unique_ptr<CodeRecord> record = COVE_TRY(put_on_record(entered, exec_id, nullptr));
    CodeOutcomes outcomes(limits_);
    outcomes.timed_out = true;
    outcomes.begun = false;
    outcomes.started_too_late = entered.late;
    Ran ran = finish(entered, exec_id, outcomes, asked_, *record);
    ran.seq = 1;
    if (parts_.sink && !parts_.sink->begin({.exec_id = exec_id, .sandbox = &sandbox_})) return std::nullopt;
    return ran;
  }

  Result<std::unique_ptr<CodeRecord>> put_on_record(const Entered& entered, const std::string& exec_id,
                                                    std::shared_ptr<CodeControl> control) {
    ExecOrder order = order_.order;
    order.spec.id = exec_id;
    order.spec.input = false;
    order.context = entered.context.id;
    order.used = entered.context.used;
    return parts_.engine.record_code(parts_.caller, id(), std::move(order), std::move(control));
  }

  Ran finish(const Entered& entered, const std::string& exec_id, CodeOutcomes& outcomes, Clock::time_point started,
             CodeRecord& record) {
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
    CodeRun run{.exec_id = exec_id,
                .context = entered.context,
                .sandbox = sandbox_,
                .placed = order_.order.placed,
                .started_ms = now_ms() - static_cast<int64_t>(took),
                .took_ms = took,
                .usage = minus(usage_now(), entered.before)};
    if (outcomes.lost) run.interpreter_end = entered.execution->interpreter().result;
    Ran ran{.result = outcomes.result(run)};
    if (entered.network) tell_network(*entered.network, ran.result);
    record.end(ran.result);
    parts_.engine.note(parts_.caller, "context.executed", id(), entered.context.id, "{}");
    return ran;
  }

  void tell_network(const Networks::Mark& mark, ExecResult& result) {
    Networks::Since since = parts_.engine.networks().since(id(), mark);
    result.usage.net_in_bytes = since.counters.in_bytes;
    result.usage.net_out_bytes = since.counters.out_bytes;
    std::ranges::move(since.denials, std::back_inserter(result.denials));
  }

  Usage usage_now() {
    Result<Stats> stats = parts_.engine.stats(parts_.caller, id());
    return stats ? stats->total : Usage();
  }

  bool caller_lasts() {
    use_.tell();
    const Wake wake = parts_.presence.wait(-1, milliseconds(0));
    return wake != Wake::Gone && wake != Wake::Stopping;
  }

  // Whoever has named a context, and not one interpreter of it, may have waited for one that has gone meanwhile.
  Result<Entered> enter() {
    for (int i = 0;; ++i) {
      ContextInfo context = COVE_TRY(find_context());
      COVE_TRY(check_session(context));
      Result<Entered> entered = enter_once({.context = context});
      if (entered || i == kTries || order_.context == context.id ||
          parts_.contexts.find(parts_.caller, id(), context.id))
        return entered;
    }
  }

  Result<Entered> enter_once(Entered entered) {
    entered.late = deadline_ && Clock::now() >= *deadline_;
    const TurnWait wait{deadline_, [this] { return caller_lasts(); }};
    entered.execution = COVE_TRY(parts_.contexts.enter(parts_.caller, entered.context, wait));
    entered.before = usage_now();
    entered.network = parts_.engine.networks().mark(id());
    if (entered.execution) COVE_TRY(entered.execution->begin(order_.order.code));
    return entered;
  }

  Result<ContextInfo> find_context() {
    if (order_.context == kDefaultContext)
      return default_context(order_.language.value_or(LanguageWish{kUsualLanguage, ""}));
    if (order_.language)
      COVE_TRY(
          check_language(COVE_TRY(parts_.contexts.find_any(parts_.caller, id(), order_.context)), *order_.language));
    return parts_.contexts.find_or_revive(parts_.caller, id(), order_.context);
  }

  // A version that is named may be the one that the language's usual context has.
  Result<ContextInfo> default_context(const LanguageWish& wish) {
    if (!wish.version.empty()) {
      Result<ContextInfo> usual =
          parts_.contexts.find(parts_.caller, id(), default_order(wish.name, parts_.session).name);
      if (usual && check_language(*usual, wish)) return usual;
    }
    return parts_.contexts.find_or_create(parts_.caller, id(), default_order(to_text(wish), parts_.session));
  }

  Result<void> check_language(const ContextInfo& context, const LanguageWish& wish) {
    LanguageWish has = COVE_TRY(parse_language(parts_.engine.config().languages, context.language));
    if (context.used && !context.used->version.empty()) has.version = context.used->version;
    const bool version_fits =
        wish.version.empty() || has.version == wish.version || has.version.starts_with(wish.version + ".");
    if (has.name == wish.name && version_fits) return {};
    return fail(Error(Code::Conflict,
                      concat("run ", to_text(wish), " in context ", context.id, ": it is one of ", to_text(has)))
                    .hint("leave 'language' out, or use another context"));
  }

  // Whoever ends the session ends the contexts that he finds: one of its own that came after that look ends here.
  Result<void> check_session(const ContextInfo& context) {
    if (!parts_.session) return {};
    Result<SessionInfo> now = parts_.sessions.use(parts_.caller, parts_.session->id);
    if (now) return {};
    if (context.name.ends_with("/" + parts_.session->id))
      static_cast<void>(parts_.contexts.remove(parts_.caller, context.sandbox_id, context.id));
    return fail(std::move(now.error()));
  }

  const std::string& id() const { return sandbox_.spec.id; }

  const Parts parts_;
  const SandboxInfo sandbox_;
  CodeOrder order_;
  SessionUse use_;
  const Clock::time_point asked_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  Limits limits_;
};

}  // namespace

Result<std::optional<Ran>> ContextRuns::run(const Caller& caller, const std::string& sandbox, CodeOrder order,
                                            CallerPresence& presence, RunSink* sink) {
  SandboxInfo info = COVE_TRY(engine_.find(caller, sandbox));
  CodeCall call({engine_, sessions_, contexts_, caller, nullptr, presence, sink}, std::move(info), std::move(order));
  return call.run();
}

Result<std::optional<Ran>> ContextRuns::run_in_session(const Caller& caller, const std::string& id, CodeOrder order,
                                                       CallerPresence& presence, RunSink* sink) {
  const SessionInfo session = COVE_TRY(sessions_.use(caller, id));
  order.order.placed =
      COVE_TRY(place(circumstances_of(order.order, session, WaitedFor::Yes, caller, engine_.config()))).why;
  SandboxInfo info = COVE_TRY(sessions_.sandbox_for(caller, session));
  CodeCall call({engine_, sessions_, contexts_, caller, &session, presence, sink}, std::move(info), std::move(order));
  return call.run();
}

}  // namespace cove::engine
