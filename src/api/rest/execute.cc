// Everything in one call: a sandbox, files in, a command or code, files out.
#include "api/rest/call.h"
#include "api/rest/exec_answer.h"
#include "api/rest/execute_request.h"
#include "api/rest/host_answer.h"
#include "api/rest/output.h"
#include "api/rest/place.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "api/rest/work_files.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/pool/warm_pool.h"
#include "engine/session/placement.h"
#include "engine/session/sessions.h"
#include "run/copy.h"

namespace cove::api {
namespace {

using Lease = engine::Engine::FileLease;

constexpr int kTries = 5;

// One call, from its request to its answer.
class Execution {
 public:
  Execution(Call& call, ExecuteRequest request, ExecuteForm form)
      : call_(call), request_(std::move(request)), form_(form) {}
  ~Execution() { remove_passing(); }
  Execution(const Execution&) = delete;

  Outcome run() {
    if (!request_.session.empty()) session_ = COVE_TRY(call_.api.sessions->use(call_.caller, request_.session));
    engine::Placement placement = COVE_TRY(engine::place(circumstances()));
    if (placement.where != engine::Where::Sandbox) {
      std::optional<engine::HostExecs::Use> use;
      if (session_) use.emplace(COVE_TRY(call_.api.sessions->on_host(call_.caller, *session_)));
      HostWish host{order(), workspace(), form_ == ExecuteForm::Stream ? ExecForm::Stream : ExecForm::AtEnd, placement};
      if (COVE_TRY(answer_on_host(call_, host)) == HostAnswer::Given) return {};
      placement.why = host.placement.why;
    }
    request_.order.placed = placement.why;
    auto exec = COVE_TRY(start());
    return form_ == ExecuteForm::Stream ? stream(*exec) : answer(*exec);
  }

 private:
  Outcome answer(engine::Exec& exec) {
    Checked<Waited> waited = wait_for_end(call_, exec, engine::OnDisconnect::Kill);
    // The server stops, and a sandbox for this call alone goes with it.
    if (!waited && request_.passing)
      return refuse(503, "unavailable", "the server stops, and what ran for this call ends");
    if (COVE_TRY(std::move(waited)) == Waited::Left) return {};
    ExecResult result = COVE_TRY(result_with_files(exec));
    remove_passing();
    return call_.respond(200, result_json(result));
  }

  // Whoever has seen the exit finds nothing of the call's own sandbox any more.
  Outcome stream(engine::Exec& exec) {
    auto follower = COVE_TRY(exec.follow(1));
    EventStream stream(call_.exchange);
    const bool begun = stream.begin() && stream.send(start_event(exec));
    Checked<StreamEnd> end = begun ? send_output(stream, *follower) : Checked<StreamEnd>(StreamEnd::Gone);
    if (end && *end == StreamEnd::Stopping) return passing_.clear(), Outcome();
    if (!end || *end == StreamEnd::Gone) static_cast<void>(exec.kill());
    if (!end) return stream.send_problem(end.error()), Outcome();
    if (*end == StreamEnd::Gone) return {};
    const std::string exit = exit_event(exec, result_with_files(exec));
    follower.reset();
    remove_passing();
    if (stream.send(exit)) (void)stream.end();
    return {};
  }

  // What a caller needs who wants to send input or signals meanwhile.
  std::string start_event(const engine::Exec& exec) const {
    return sse_event(std::nullopt, "start",
                     dump({{"exec_id", exec.info().id},
                           {"sandbox_id", sandbox_.spec.id},
                           {"image", sandbox_.spec.image},
                           {"warnings", sandbox_.warnings}}));
  }

  void remove_passing() {
    if (passing_.empty()) return;
    const std::string id = std::exchange(passing_, {});
    Result<void> removed = call_.engine().remove(call_.caller, id);
    if (!removed && removed.error().code() != Code::NotFound)
      log::warning("a sandbox could not be removed", {{"sandbox", id}, {"why", removed.error().message()}});
  }

  const Workspace& workspace() const {
    return session_ ? session_->order.sandbox.workspace : request_.place.sandbox.workspace;
  }
  engine::ExecOrder order() const {
    return session_ ? engine::order_in_session(*session_, request_.order) : request_.order;
  }

  engine::Circumstances circumstances() const {
    engine::Mode mode = request_.mode.value_or(session_ ? session_->order.mode : engine::Mode::All);
    if (session_) mode = engine::stricter(mode, session_->order.mode);
    const ExecSpec& spec = request_.order.spec;
    const SandboxSpec& place = session_ ? session_->order.sandbox : request_.place.sandbox;
    return {.mode = mode,
            .local = call_.caller.local,
            .waited_for = true,
            .off_allowed = call_.engine().config().modes.allow_off,
            .workspace = workspace().access != Access::None,
            .review = workspace().access == Access::Review,
            .read_only = workspace().access == Access::ReadOnly,
            .variables = !order().spec.env.empty(),
            .code = !request_.order.language.empty(),
            .input = spec.input,
            .terminal = spec.pty.has_value(),
            .user = !spec.user.empty() || (request_.passing && !place.user.empty()),
            .image = request_.command || engine::names_image(place, call_.engine().config().runtime),
            .files = !request_.files.empty() || (request_.outputs && !request_.outputs->empty()),
            .limits = engine::names_limit(place.limits)};
  }

  // A sandbox that serves others, too, may be deleted by them at any moment: then there will be another.
  Checked<std::shared_ptr<engine::Exec>> start() {
    for (int i = 0;; ++i) {
      COVE_TRY(find_sandbox());
      Checked<std::shared_ptr<engine::Exec>> exec = start_there();
      if (exec || request_.passing || i == kTries) return exec;
      Code code = exec.error().status == 409 ? Code::Conflict : Code::Internal;
      if (!call_.api.sessions->worth_another_try(call_.caller, sandbox_.spec.id, code)) return exec;
    }
  }

  Checked<std::shared_ptr<engine::Exec>> start_there() {
    COVE_TRY(prepare());
    if (const auto& command = request_.command)
      request_.order.spec.argv =
          COVE_TRY(command_of(sandbox_.spec.image_defaults, command->entrypoint, command->words));
    if (session_)
      return COVE_TRY(call_.api.sessions->exec_in(call_.caller, *session_, sandbox_.spec.id, request_.order));
    return COVE_TRY(call_.engine().exec(call_.caller, sandbox_.spec.id, request_.order));
  }

  Outcome find_sandbox() {
    engine::Sessions& sessions = *call_.api.sessions;
    if (session_) {
      sandbox_ = COVE_TRY(sessions.sandbox_for(call_.caller, *session_));
    } else if (request_.passing) {
      sandbox_ = COVE_TRY(
          sessions.passing_sandbox(call_.caller, request_.place, request_.order,
                                   form_ == ExecuteForm::Stream ? engine::kStreamBinding : engine::kCallBinding));
      passing_ = sandbox_.spec.id;
    } else {
      sandbox_ = COVE_TRY(sessions.sandbox_for(call_.caller, request_.place));
    }
    return {};
  }

  bool wants_changes() const { return !request_.outputs; }
  bool wants_files() const { return wants_changes() || !request_.outputs->empty(); }

  // Files go in; then a look at what there is, to know afterwards what is new.
  Outcome prepare() {
    if (request_.files.empty() && !wants_files()) return {};
    if (is_blank() && request_.files.empty() && wants_changes() && call_.api.homes.find(home_key(), folder_, before_))
      return {};
    Lease lease = COVE_TRY(call_.engine().files(call_.caller, sandbox_.spec.id, "", Scope::Run));
    folder_ = working_folder(*lease.view);
    for (const InputFile& file : request_.files) COVE_TRY(put(lease, file));
    if (is_blank() && std::ranges::any_of(request_.files, [&](const InputFile& file) { return is_beside(file); }))
      request_.order.beside = folder_;
    if (wants_changes()) before_ = look_around(*lease.view, folder_);
    if (is_blank() && request_.files.empty() && wants_changes()) call_.api.homes.keep(home_key(), folder_, before_);
    return {};
  }

  // Nobody has used it before, and it works in its home: what is there is what its image has there.
  bool is_blank() const {
    return request_.passing && request_.order.spec.cwd.empty() && sandbox_.spec.workspace.access == Access::None;
  }
  std::string home_key() const { return concat(sandbox_.spec.image, " ", sandbox_.spec.user); }

  std::string working_folder(View& view) const {
    if (!request_.order.spec.cwd.empty()) return tidy_path(request_.order.spec.cwd);
    if (sandbox_.spec.workspace.access != Access::None) return kWorkspacePath;
    return absolute_path(view, ".");
  }

  std::string place_of(const InputFile& file) const {
    return file.path.starts_with('/') ? file.path : concat(folder_, "/", file.path);
  }
  // Whether code that lies in the working folder may need it. Go does not look at files that begin with a dot.
  bool is_beside(const InputFile& file) const {
    return request_.order.language != "go" && place_of(file).starts_with(folder_ + "/");
  }

  Outcome put(const Lease& lease, const InputFile& file) {
    std::string path = place_of(file);
    COVE_TRY(checked_file(lease.view->mkdir(folder_of(path), 0755, Depth::Recursive)));
    COVE_TRY(checked_file(write_inline(*lease.view, {path, file.data})));
    note_file(call_, lease, "file.written", {{"path", tidy_path(path)}, {"bytes", file.data.size()}});
    return {};
  }

  // What has run has run: what cannot be fetched is told beside the result.
  Checked<ExecResult> result_with_files(const engine::Exec& exec) {
    ExecResult result = COVE_TRY(result_of(exec));
    if (!wants_files()) return result;
    Produced produced = fetch();
    const std::string script = engine::hidden_script(exec.info().id);
    std::erase_if(produced.files, [&](const OutputFile& file) { return file.path.starts_with(script); });
    result.files = std::move(produced.files);
    std::ranges::move(produced.left_out, std::back_inserter(result.denials));
    return result;
  }

  Produced fetch() {
    Result<Lease> lease = call_.engine().files(call_.caller, sandbox_.spec.id, "", Scope::Run);
    if (!lease) return {.files = {}, .left_out = {{"give back files", lease.error().message()}}};
    Produced produced = wants_changes() ? collect_changed(*lease->view, folder_, before_)
                                        : collect_matching(*lease->view, folder_, *request_.outputs);
    for (const OutputFile& file : produced.files)
      note_file(call_, *lease, "file.read", {{"path", concat(folder_, "/", file.path)}, {"bytes", file.bytes}});
    return produced;
  }

  Call& call_;
  ExecuteRequest request_;
  ExecuteForm form_;
  std::optional<engine::SessionInfo> session_;
  engine::SandboxInfo sandbox_;
  std::string passing_;  // the id of a sandbox that is for this call alone
  std::string folder_;   // inside: where it works
  Surroundings before_;
};

Outcome execute(Call& call) {
  Json body = COVE_TRY(call.body());
  const ExecuteForm form = accepts(call.request(), kEventStream) ? ExecuteForm::Stream : ExecuteForm::Result;
  Execution execution(call, COVE_TRY(parse_execute(body, call.engine().config(), form)), form);
  return execution.run();
}

}  // namespace

void add_execute(Routes& routes) { routes.add("POST", "/v1/execute", kRun, execute); }

}  // namespace cove::api
