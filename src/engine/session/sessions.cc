#include "engine/session/sessions.h"

#include <algorithm>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/context/contexts.h"
#include "engine/network/policy_layers.h"
#include "engine/quota/admission.h"
#include "engine/record_codec.h"
#include "engine/session/placement.h"
#include "image/catalogue.h"
#include "runtime/oci/programs.h"

namespace cove::engine {
namespace {

constexpr int kTries = 5;                     // for a sandbox that others keep deleting
constexpr std::chrono::seconds kPassing{30};  // a passing sandbox may be without use

Result<void> require(const Caller& caller, Scope scope) {
  if (caller.scopes.allow(scope) && caller.only_sandbox.empty()) return {};
  return fail(Code::Denied, concat("this needs the scope '", std::string_view(scope_name(scope)), "'"));
}

std::unexpected<Error> has_ended(const SessionInfo& session) {
  return fail(
      Error(Code::Conflict, concat("session ", session.id, " has ended: ", session.reason)).hint("start another one"));
}

std::string turn_of(const std::string& project, const std::string& binding) { return concat(project, "/", binding); }

EventDraft event_of(const Caller& caller, const SessionInfo& session, const std::string& kind, Json data) {
  data["session"] = session.id;
  return {kind, session.project, session.sandbox_id, "", caller.actor, data.dump(), 0};
}

// How people find out what a sandbox is for.
std::map<std::string, std::string> labels_of(const SessionOrder& order, const std::string& session_id) {
  std::map<std::string, std::string> labels;
  if (order.scope == SessionScope::Session) labels = order.sandbox.labels;
  labels["cove.scope"] = scope_name(order.scope);
  if (order.scope == SessionScope::Session) labels["cove.session"] = session_id;
  if (!order.agent.empty() && order.scope != SessionScope::Shared) labels["cove.agent"] = order.agent;
  return labels;
}

CreateOrder create_order(const SessionOrder& order) {
  CreateOrder create;
  create.spec = order.sandbox;
  if (create.spec.image.empty()) create.spec.image = SandboxSpec().image;
  create.spec.user.clear();
  create.spec.env.clear();  // each exec brings the session's
  if (order.scope != SessionScope::Shared) create.spec.agent = order.agent;
  return create;
}

// The session's own sandbox lives as long as the session; the others as the configuration has it, but they wake.
Lifecycle lifecycle_of(SessionScope scope, const Config& config) {
  Lifecycle lifecycle;
  if (scope != SessionScope::Session)
    lifecycle = {config.lifecycle.idle, config.lifecycle.max, config.lifecycle.on_expire, true};
  lifecycle.auto_resume = true;
  return lifecycle;
}

}  // namespace

ExecOrder order_in_session(const SessionInfo& session, ExecOrder order) {
  const SandboxSpec& spec = session.order.sandbox;
  Environment env = spec.env;
  std::erase_if(env, [&](const auto& variable) {
    return std::ranges::any_of(order.spec.env, [&](const auto& own) { return own.first == variable.first; });
  });
  env.insert(env.end(), order.spec.env.begin(), order.spec.env.end());
  order.spec.env = std::move(env);
  if (spec.limits.timeout.named && !order.limits.timeout.named) order.limits.timeout = spec.limits.timeout;
  if (spec.limits.output.named && !order.limits.output.named) order.limits.output = spec.limits.output;
  order.session = session.id;
  return order;
}

// --- sessions themselves ---------------------------------------------------------------------------------------------

// Mode `off`, and an image, that there cannot be are refused at once.
Result<void> Sessions::check_order(const Caller& caller, const SessionOrder& order) {
  if (order.mode == Mode::Off) {
    COVE_TRY(check_off(caller.local, engine_.config().modes.allow_off));
    COVE_TRY(check_off_access(order.sandbox.workspace.access == Access::ReadOnly));
    if (!order.sandbox.secrets.empty())
      return fail(
          Error(Code::Invalid, "in mode 'off' no secrets are given to commands").hint("use mode 'all'").at("/secrets"));
  }
  const std::string& image = order.sandbox.image;
  if (!image.empty() && !is_host_image(image))
    if (auto found = engine_.images().find_reference(image); !found) return fail(std::move(found).error().at("/image"));
  return {};
}

// In a sandbox that all share, only the project's.
Result<void> Sessions::check_secrets(const Caller& caller, const SessionOrder& order) {
  const bool shared = order.scope == SessionScope::Shared;
  return engine_.secrets().check(caller, shared ? "" : order.agent, order.sandbox.secrets);
}

Result<SessionInfo> Sessions::start(const Caller& caller, SessionOrder order) {
  COVE_TRY(require(caller, Scope::Run));
  COVE_TRY(check_order(caller, order));
  COVE_TRY(check_secrets(caller, order));
  SessionInfo session;
  session.id = make_id();
  session.project = caller.project;
  session.order = std::move(order);
  COVE_TRY(check_limits(caller, engine_.config().maxima, session.order.sandbox.limits));
  COVE_TRY(net::check_policy(session.order.sandbox.network));
  COVE_TRY(check_made(caller, session.order.sandbox.network, engine_.config()));
  if (has_network(session.order.sandbox.network)) COVE_TRY(check_network_of(session.order.sandbox));
  if (session.order.mode != Mode::Off) COVE_TRY(check_runtime(session.order.sandbox.runtime));
  COVE_TRY(engine_.pin(caller, session.order.sandbox.workspace));
  session.created_ms = session.last_used_ms = engine_.clock().now_ms();
  EventDraft event = event_of(caller, session, "session.started",
                              {{"scope", scope_name(session.order.scope)},
                               {"mode", mode_name(session.order.mode)},
                               {"agent", session.order.agent}});
  COVE_TRY(store_.insert_session(record_of(session), {&event, 1}));
  return session;
}

Result<void> Sessions::check_network_of(const SandboxSpec& spec) {
  const std::string& named = spec.runtime;
  return check_can_have_network(
      engine_.capabilities(COVE_TRY(oci::settle_runtime(named.empty() ? engine_.config().runtime : named))));
}

// Its sandbox is made later; that there can be none is told at once.
Result<void> Sessions::check_runtime(const std::string& named) {
  std::string name = COVE_TRY(oci::settle_runtime(named.empty() ? engine_.config().runtime : named));
  if (find_runtime_kind(name)->family != RuntimeFamily::Engine) return {};
  RuntimeFact fact = COVE_TRY(engine_.examine(name));
  if (fact.available) return {};
  return fail(Error(Code::Unavailable, fact.problem).hint(fact.remedy));
}

// Of one that serves others, too, the sandbox itself is to be changed.
Result<SessionInfo> Sessions::change_network(const Caller& caller, const std::string& id, const NetworkChange& change) {
  COVE_TRY(require(caller, Scope::Run));
  SessionInfo session = COVE_TRY(find(caller, id));
  if (session.state == SessionState::Ended) return has_ended(session);
  if (session.order.scope != SessionScope::Session)
    return fail(Error(Code::Conflict, concat("session ", id, " shares its sandbox with others"))
                    .hint("change the network of the sandbox, or of the project or the agent")
                    .at("/network"));
  Turns::Turn turn = turns_.take(turn_of(session.project, binding_of(session.order, session.id)));
  // Its own record follows its sandbox's.
  if (std::optional<SandboxInfo> there = COVE_TRY(find_bound(caller, binding_of(session.order, session.id)))) {
    COVE_TRY(engine_.update(caller, there->spec.id, {.network = change}));
    return find(caller, id);
  }
  session = COVE_TRY(find(caller, id));
  const NetworkPolicy before = session.order.sandbox.network;
  session.order.sandbox.network = changed(before, change);
  COVE_TRY(net::check_policy(session.order.sandbox.network));
  COVE_TRY(check_changed(caller, before, session.order.sandbox.network, engine_.config()));
  if (has_network(session.order.sandbox.network)) COVE_TRY(check_network_of(session.order.sandbox));
  EventDraft event = event_of(caller, session, "network.changed",
                              {{"old", Json::parse(record_text(before)).value_or(Json())},
                               {"new", Json::parse(record_text(session.order.sandbox.network)).value_or(Json())}});
  COVE_TRY(store_.update_session(id, record_of(session).spec, {&event, 1}));
  return session;
}

Result<SessionInfo> Sessions::find(const Caller& caller, const std::string& id) {
  COVE_TRY(require(caller, Scope::Read));
  return info_of(COVE_TRY(store_.find_session(caller.project, id)));
}

Result<Page<SessionInfo>> Sessions::list(const Caller& caller, const SessionFilter& filter, const std::string& after,
                                         size_t limit) {
  COVE_TRY(require(caller, Scope::Read));
  Store::SessionFilter wanted;
  wanted.project = caller.project;
  wanted.agent = filter.agent;
  if (filter.scope) wanted.scope = scope_name(*filter.scope);
  if (filter.state) wanted.state = *filter.state == SessionState::Active ? kSessionActive : kSessionEnded;
  std::vector<SessionRecord> records = COVE_TRY(store_.list_sessions(wanted, after, limit + 1));
  Page<SessionInfo> page;
  if (records.size() > limit) {
    records.pop_back();
    page.next = cursor(records.back());
  }
  for (const SessionRecord& record : records) page.items.push_back(COVE_TRY(info_of(record)));
  return page;
}

// First the mark, then the look: whoever would end it for lack of use either sees the mark, or is seen.
Result<SessionInfo> Sessions::use(const Caller& caller, const std::string& id) {
  COVE_TRY(require(caller, Scope::Run));
  COVE_TRY(store_.find_session(caller.project, id));
  COVE_TRY(store_.touch_session(id, engine_.clock().now_ms()));
  SessionInfo session = COVE_TRY(find(caller, id));
  if (session.state == SessionState::Ended) return has_ended(session);
  return session;
}

Result<void> Sessions::end(const Caller& caller, const std::string& id) {
  COVE_TRY(require(caller, Scope::Run));
  SessionInfo session = COVE_TRY(find(caller, id));
  if (session.state == SessionState::Ended) return finish_end(caller, session);
  Result<void> ended = end_now(caller, session, {concat("it was ended by ", caller.actor), engine_.clock().now_ms()});
  // Somebody else was faster.
  if (!ended && ended.error().code() == Code::NotFound) return {};
  return ended;
}

// Whoever ended it may not have come to its sandbox, or is about to.
Result<void> Sessions::finish_end(const Caller& caller, const SessionInfo& session) {
  if (session.order.scope != SessionScope::Session) return {};
  Turns::Turn turn = turns_.take(turn_of(session.project, binding_of(session.order, session.id)));
  return clear_up(caller, session);
}

// The record goes first: what is left over when the server is killed in between is removed by the next one.
Result<void> Sessions::end_now(const Caller& caller, const SessionInfo& session, const Store::SessionEnd& end) {
  Turns::Turn turn = turns_.take(turn_of(session.project, binding_of(session.order, session.id)));
  EventDraft event = event_of(caller, session, "session.ended", {{"reason", end.reason}});
  COVE_TRY(store_.end_session(session.id, end, {&event, 1}));
  crash_point("engine.session.ended");
  return clear_up(caller, session);
}

Result<void> Sessions::clear_up(const Caller& caller, const SessionInfo& session) {
  host_execs_.end(session.id);
  if (session.order.scope != SessionScope::Session) return end_execs(caller, session);
  std::optional<SandboxRecord> bound =
      COVE_TRY(store_.find_bound(session.project, binding_of(session.order, session.id)));
  if (!bound) return {};
  Result<void> removed = engine_.remove(caller, bound->id);
  if (!removed && removed.error().code() == Code::NotFound) return {};
  return removed;
}

// Of a sandbox that serves others, too, only those go that somebody was to wait for, and the session's own contexts.
Result<void> Sessions::end_execs(const Caller& caller, const SessionInfo& session) {
  for (const ExecRecord& record : COVE_TRY(store_.running_execs_of_session(session.id))) {
    Result<ExecInfo> info = info_of(record);
    if (info && info->order.detached && !is_context(info->order)) continue;
    Result<std::shared_ptr<Exec>> exec = engine_.find_exec(caller, record.sandbox_id, record.id, Scope::Run);
    if (exec) static_cast<void>((*exec)->kill());
  }
  return {};
}

// --- their sandboxes -------------------------------------------------------------------------------------------------

Result<std::optional<SandboxInfo>> Sessions::find_bound(const Caller& caller, const std::string& binding) {
  std::optional<SandboxRecord> bound = COVE_TRY(store_.find_bound(caller.project, binding));
  if (!bound) return std::optional<SandboxInfo>();
  Result<SandboxInfo> info = engine_.find(caller, bound->id);
  if (info) return std::optional(std::move(*info));
  // It is being made or deleted at this moment.
  if (info.error().code() == Code::NotFound) return std::optional<SandboxInfo>();
  return std::unexpected(info.error());
}

Result<SandboxInfo> Sessions::make(const Caller& caller, const SessionOrder& order, const std::string& session_id) {
  CreateOrder create = create_order(order);
  create.spec.labels = labels_of(order, session_id);
  create.lifecycle = lifecycle_of(order.scope, engine_.config());
  create.binding = binding_of(order, session_id);
  create.network_admitted = !session_id.empty();
  create.secrets_granted = !session_id.empty();
  SandboxInfo made = COVE_TRY(engine_.create(caller, std::move(create)));
  crash_point("engine.session.made");
  return made;
}

Result<SandboxInfo> Sessions::find_or_make(const Caller& caller, const SessionOrder& order,
                                           const std::string& session_id) {
  std::string binding = binding_of(order, session_id);
  if (session_id.empty()) COVE_TRY(check_secrets(caller, order));
  std::optional<SandboxInfo> there = COVE_TRY(find_bound(caller, binding));
  if (!there) {
    Turns::Turn turn = turns_.take(turn_of(caller.project, binding));
    there = COVE_TRY(find_bound(caller, binding));
    if (!there && !session_id.empty()) {
      SessionInfo session = COVE_TRY(find(caller, session_id));
      if (session.state == SessionState::Ended) return has_ended(session);
    }
    if (!there) return make(caller, order, session_id);
  }
  SandboxSpec wanted = order.sandbox;
  COVE_TRY(engine_.pin(caller, wanted.workspace));
  SandboxSpec has = there->spec;
  if (there->network_asked) has.network = *there->network_asked;
  std::string other = difference(wanted, has);
  if (other.empty() && order.runtime_named)
    if (std::string runtime = COVE_TRY(oci::settle_runtime(wanted.runtime)); runtime != there->spec.runtime)
      other = concat("the runtime ", there->spec.runtime, ", and not ", runtime);
  if (other.empty()) return std::move(*there);
  return fail(Error(Code::Conflict, concat("sandbox ", there->spec.id, ", which serves ", binding, ", has ", other))
                  .hint("ask for what it has, or delete it first"));
}

Result<void> Sessions::bind(const Caller& caller, const SessionInfo& session, const std::string& sandbox_id) {
  if (session.sandbox_id == sandbox_id) return {};
  SessionInfo bound = session;
  bound.sandbox_id = sandbox_id;
  EventDraft event = event_of(caller, bound, "session.bound", {{"scope", scope_name(session.order.scope)}});
  COVE_TRY(store_.bind_session(session.id, sandbox_id, {&event, 1}));
  return {};
}

Result<SandboxInfo> Sessions::sandbox_for(const Caller& caller, const SessionInfo& session) {
  for (int i = 0;; ++i) {
    SandboxInfo sandbox = COVE_TRY(find_or_make(caller, session.order, session.id));
    Result<void> bound = bind(caller, session, sandbox.spec.id);
    if (bound) return sandbox;
    // Deleted at once, or the session has ended.
    if (bound.error().code() != Code::NotFound || i == kTries) return std::unexpected(bound.error());
    SessionInfo now = COVE_TRY(find(caller, session.id));
    if (now.state == SessionState::Ended) return has_ended(now);
  }
}

Result<SandboxInfo> Sessions::sandbox_for(const Caller& caller, const SessionOrder& order) {
  COVE_TRY(require(caller, Scope::Run));
  return find_or_make(caller, order, "");
}

Result<SandboxInfo> Sessions::passing_sandbox(const Caller& caller, const SessionOrder& order, const ExecOrder& use,
                                              std::string_view binding) {
  CreateOrder create = create_order(order);
  create.spec.user = order.sandbox.user;
  create.spec.one_use = true;
  create.language = {use.language, use.version};
  create.use_follows = use.file.empty();
  if (!use.language.empty()) create.spec.image = order.sandbox.image;
  create.binding = concat(binding, make_id());
  create.lifecycle = {kPassing, std::chrono::milliseconds(0), OnExpire::Delete, false};
  return engine_.create(caller, std::move(create));
}

// --- their execs -----------------------------------------------------------------------------------------------------

bool Sessions::worth_another_try(const Caller& caller, const std::string& sandbox_id, Code code) {
  return code == Code::Conflict || !engine_.find(caller, sandbox_id);
}

// Whoever ends the session ends the execs that he finds: one that came after that look ends here.
Result<std::shared_ptr<Exec>> Sessions::exec_in(const Caller& caller, const SessionInfo& session,
                                                const std::string& sandbox_id, const ExecOrder& order) {
  std::shared_ptr<Exec> exec = COVE_TRY(engine_.exec(caller, sandbox_id, order_in_session(session, order)));
  if (session.order.scope == SessionScope::Session || order.detached) return exec;
  SessionInfo now = COVE_TRY(find(caller, session.id));
  if (now.state == SessionState::Active) return exec;
  static_cast<void>(exec->kill());
  return has_ended(now);
}

Result<std::shared_ptr<Exec>> Sessions::exec(const Caller& caller, const SessionInfo& session, const ExecOrder& order) {
  for (int i = 0;; ++i) {
    SandboxInfo sandbox = COVE_TRY(sandbox_for(caller, session));
    Result<std::shared_ptr<Exec>> exec = exec_in(caller, session, sandbox.spec.id, order);
    if (exec || i == kTries || !worth_another_try(caller, sandbox.spec.id, exec.error().code())) return exec;
  }
}

// Noted first, then looked at: whoever ends the session sees the note, or its end is seen here.
Result<HostExecs::Use> Sessions::on_host(const Caller& caller, const SessionInfo& session) {
  HostExecs::Use use = host_execs_.use(session.id, caller.connection);
  SessionInfo now = COVE_TRY(find(caller, session.id));
  if (now.state == SessionState::Ended) return has_ended(now);
  return use;
}

Result<Page<ExecInfo>> Sessions::list_execs(const Caller& caller, const std::string& id, Engine::ExecFilter filter,
                                            const std::string& after, size_t limit) {
  SessionInfo session = COVE_TRY(find(caller, id));
  if (session.sandbox_id.empty()) return Page<ExecInfo>();
  filter.session = session.id;
  Result<Page<ExecInfo>> page = engine_.list_execs(caller, session.sandbox_id, filter, after, limit);
  if (!page && page.error().code() == Code::NotFound) return Page<ExecInfo>();
  return page;
}

}  // namespace cove::engine
