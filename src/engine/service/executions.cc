#include "engine/service/executions.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/pool/warm_pool.h"
#include "engine/service/following.h"
#include "engine/service/inside_paths.h"
#include "run/copy.h"

namespace cove::engine {

using Lease = Engine::FileLease;

constexpr int kTries = 5;

// One call of everything in one, from its order to its result.
class ExecutionCall {
 public:
  using Outcome = std::expected<std::optional<Ran>, ExecuteError>;
  struct Parts {
    Engine& engine;
    Sessions& sessions;
    FreshHomes& homes;
    const Caller& caller;
    CallerPresence& presence;
    RunSink* sink;
  };
  ExecutionCall(Parts parts, ExecuteOrder order, std::optional<SessionInfo> session)
      : parts_(parts), order_(std::move(order)), session_(std::move(session)) {}
  ~ExecutionCall() { remove_passing(); }
  ExecutionCall(const ExecutionCall&) = delete;

  Outcome run() {
    auto exec = COVE_TRY(start());
    return parts_.sink ? follow(*exec) : wait(*exec);
  }

 private:
  template <typename T>
  using Tried = std::expected<T, ExecuteError>;

  Outcome wait(Exec& exec) {
    const Waited waited = COVE_TRY(wait_for_end(exec, parts_.presence, OnDisconnect::Kill));
    if (waited == Waited::Left) return std::nullopt;
    if (waited == Waited::Stopping) return std::unexpected<ExecuteError>(server_stops(exec));
    return end_of(exec);
  }

  // A sandbox for this call alone goes with it.
  Error server_stops(const Exec& exec) const {
    if (order_.passing) return Error(Code::Unavailable, "the server stops, and what ran for this call ends");
    return Error(Code::Unavailable, "the server stops; the exec goes on")
        .hint(concat("its result will be that of exec ", exec.info().id, " of sandbox ", sandbox_.spec.id));
  }

  Outcome follow(Exec& exec) {
    auto follower = COVE_TRY(exec.follow(1));
    const bool begun = parts_.sink->begin({.exec_id = exec.info().id, .sandbox = &sandbox_});
    Result<FollowEnd> end =
        begun ? pass_output(*follower, parts_.presence, *parts_.sink) : Result<FollowEnd>(FollowEnd::Left);
    // The caller may take it up again from the next server.
    if (end && *end == FollowEnd::Stopping) return passing_.clear(), std::nullopt;
    if (!end || *end == FollowEnd::Left) static_cast<void>(exec.kill());
    if (COVE_TRY(std::move(end)) == FollowEnd::Left) return std::nullopt;
    Ran ran = *COVE_TRY(end_of(exec));
    follower.reset();
    return ran;
  }

  // Who has seen the result finds nothing of the call's own sandbox any more.
  Outcome end_of(const Exec& exec) {
    Ran ran{COVE_TRY(result_with_files(exec)), exec.info().next_seq};
    remove_passing();
    return ran;
  }

  void remove_passing() {
    if (passing_.empty()) return;
    const std::string id = std::exchange(passing_, {});
    Result<void> removed = parts_.engine.remove(parts_.caller, id);
    if (!removed && removed.error().code() != Code::NotFound)
      log::warning("a sandbox could not be removed", {{"sandbox", id}, {"why", removed.error().message()}});
  }

  // A sandbox that serves others, too, may be deleted by them at any moment: then there will be another.
  Tried<std::shared_ptr<Exec>> start() {
    for (int i = 0;; ++i) {
      COVE_TRY(find_sandbox());
      Tried<std::shared_ptr<Exec>> exec = start_there();
      if (exec || order_.passing || i == kTries) return exec;
      if (!parts_.sessions.worth_another_try(parts_.caller, sandbox_.spec.id, exec.error().error.code())) return exec;
    }
  }

  Tried<std::shared_ptr<Exec>> start_there() {
    COVE_TRY(prepare());
    if (const auto& command = order_.command)
      order_.order.spec.argv = COVE_TRY(command_of(sandbox_.spec.image_defaults, command->entrypoint, command->words));
    if (session_) return COVE_TRY(parts_.sessions.exec_in(parts_.caller, *session_, sandbox_.spec.id, order_.order));
    return COVE_TRY(parts_.engine.exec(parts_.caller, sandbox_.spec.id, order_.order));
  }

  Result<void> find_sandbox() {
    Sessions& sessions = parts_.sessions;
    if (session_) {
      sandbox_ = COVE_TRY(sessions.sandbox_for(parts_.caller, *session_));
    } else if (order_.passing) {
      sandbox_ = COVE_TRY(sessions.passing_sandbox(parts_.caller, order_.place, order_.order,
                                                   parts_.sink ? kStreamBinding : kCallBinding));
      passing_ = sandbox_.spec.id;
    } else {
      sandbox_ = COVE_TRY(sessions.sandbox_for(parts_.caller, order_.place));
    }
    return {};
  }

  bool wants_changes() const { return !order_.outputs; }
  bool wants_files() const { return wants_changes() || !order_.outputs->empty(); }

  // Files go in; then a look at what there is, to know afterwards what is new.
  Tried<void> prepare() {
    if (order_.files.empty() && !wants_files()) return {};
    const bool known_home = is_blank() && order_.files.empty() && wants_changes();
    if (known_home && parts_.homes.find(home_key(), folder_, before_)) return {};
    Lease lease = COVE_TRY(parts_.engine.files(parts_.caller, sandbox_.spec.id, "", Scope::Run));
    folder_ = working_folder(*lease.view);
    for (const InputFile& file : order_.files)
      if (Result<void> written = put(lease, file); !written)
        return std::unexpected(ExecuteError(std::move(written).error(), ExecuteError::Of::Files));
    if (is_blank() && std::ranges::any_of(order_.files, [&](const InputFile& file) { return is_beside(file); }))
      order_.order.beside = folder_;
    if (wants_changes()) before_ = look_around(*lease.view, folder_);
    if (known_home) parts_.homes.keep(home_key(), folder_, before_);
    return {};
  }

  // Nobody has used it before, and it works in its home: what is there is what its image has there.
  bool is_blank() const {
    return order_.passing && order_.order.spec.cwd.empty() && sandbox_.spec.workspace.access == Access::None;
  }
  std::string home_key() const { return concat(sandbox_.spec.image, " ", sandbox_.spec.user); }

  std::string working_folder(View& view) const {
    if (!order_.order.spec.cwd.empty()) return tidy_path(order_.order.spec.cwd);
    if (sandbox_.spec.workspace.access != Access::None) return kWorkspacePath;
    return absolute_path(view, ".");
  }

  std::string place_of(const InputFile& file) const {
    return file.path.starts_with('/') ? file.path : concat(folder_, "/", file.path);
  }
  // Whether code that lies in the working folder may need it. Go does not look at files that begin with a dot.
  bool is_beside(const InputFile& file) const {
    return order_.order.language != "go" && place_of(file).starts_with(folder_ + "/");
  }

  Result<void> put(const Lease& lease, const InputFile& file) {
    std::string path = place_of(file);
    COVE_TRY(lease.view->mkdir(folder_of(path), 0755, Depth::Recursive));
    COVE_TRY(write_inline(*lease.view, {path, file.data}));
    note_file(lease, "file.written", {{"path", tidy_path(path)}, {"bytes", file.data.size()}});
    return {};
  }

  void note_file(const Lease& lease, const std::string& kind, const Json& data) {
    parts_.engine.note(parts_.caller, kind, lease.sandbox_id, "", data.dump());
  }

  // What has run has run: what cannot be fetched is told beside the result.
  Result<ExecResult> result_with_files(const Exec& exec) {
    ExecResult result = COVE_TRY(result_of(exec));
    if (!wants_files()) return result;
    Produced produced = fetch();
    const std::string script = hidden_script(exec.info().id);
    std::erase_if(produced.files, [&](const OutputFile& file) { return file.path.starts_with(script); });
    result.files = std::move(produced.files);
    std::ranges::move(produced.left_out, std::back_inserter(result.denials));
    return result;
  }

  Produced fetch() {
    Result<Lease> lease = parts_.engine.files(parts_.caller, sandbox_.spec.id, "", Scope::Run);
    if (!lease) return {.files = {}, .left_out = {{"give back files", lease.error().message()}}};
    Produced produced = wants_changes() ? collect_changed(*lease->view, folder_, before_)
                                        : collect_matching(*lease->view, folder_, *order_.outputs);
    for (const OutputFile& file : produced.files)
      note_file(*lease, "file.read", {{"path", concat(folder_, "/", file.path)}, {"bytes", file.bytes}});
    return produced;
  }

  const Parts parts_;
  ExecuteOrder order_;
  std::optional<SessionInfo> session_;
  SandboxInfo sandbox_;
  std::string passing_;  // the id of a sandbox that is for this call alone
  std::string folder_;   // inside: where it works
  Surroundings before_;
};

Result<HostOutcome> Executions::try_host(const Caller& caller, const HostOrder& order, CallerPresence& presence,
                                         RunSink* sink) {
  if (!host_) return fail(Code::Unavailable, "nothing can be run on the host");
  HostOutcome outcome = COVE_TRY(run_on_host(*host_, caller, order, engine_.config().limits, presence, sink));
  if (outcome.what == HostOutcome::What::Ran) note_host_run(engine_, caller, order, outcome);
  return outcome;
}

std::expected<std::optional<Ran>, ExecuteError> Executions::execute(const Caller& caller, ExecuteOrder order,
                                                                    CallerPresence& presence, RunSink* sink) {
  std::optional<SessionInfo> session;
  if (!order.session.empty()) session = COVE_TRY(sessions_.use(caller, order.session));
  Placement placement =
      COVE_TRY(place(circumstances_of(order, session ? &*session : nullptr, caller, engine_.config())));
  order.order.placed = placement.why;
  if (placement.where != Where::Sandbox) {
    std::optional<HostExecs::Use> use;
    if (session) use.emplace(COVE_TRY(sessions_.on_host(caller, *session)));
    const HostOrder on_host{session ? order_in_session(*session, order.order) : order.order,
                            session ? session->order.sandbox.workspace : order.place.sandbox.workspace, placement};
    HostOutcome outcome = COVE_TRY(try_host(caller, on_host, presence, sink));
    if (outcome.what == HostOutcome::What::Ran) return std::move(outcome.ran);
    if (outcome.what == HostOutcome::What::Left) return std::nullopt;
    order.order.placed = outcome.why;
  }
  ExecutionCall call({engine_, sessions_, homes_, caller, presence, sink}, std::move(order), std::move(session));
  return call.run();
}

Result<Executions::InSession> Executions::exec_in_session(const Caller& caller, const std::string& id, ExecOrder order,
                                                          WaitedFor waited_for, CallerPresence& presence,
                                                          RunSink* sink) {
  const SessionInfo session = COVE_TRY(sessions_.use(caller, id));
  Placement placement = COVE_TRY(place(circumstances_of(order, session, waited_for, caller, engine_.config())));
  order.placed = placement.why;
  if (placement.where != Where::Sandbox) {
    HostExecs::Use use = COVE_TRY(sessions_.on_host(caller, session));
    const HostOrder on_host{order_in_session(session, order), session.order.sandbox.workspace, placement};
    HostOutcome outcome = COVE_TRY(try_host(caller, on_host, presence, sink));
    if (outcome.what == HostOutcome::What::Ran) return InSession{.ran = std::move(outcome.ran)};
    if (outcome.what == HostOutcome::What::Left) return InSession();
    order.placed = outcome.why;
  }
  return InSession{.exec = COVE_TRY(sessions_.exec(caller, session, order))};
}

}  // namespace cove::engine
