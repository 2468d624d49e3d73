#include "spawn/server.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error_wire.h"
#include "base/text.h"
#include "model/runtime_kind.h"
#include "sys/cgroup_mounts.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/own_folder.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

constexpr int kTendMilliseconds = 200;
constexpr int kMessagesPerTurn = 32;
constexpr size_t kMaxFds = 4;

void raise_descriptor_limit() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Appends its folders, then the descriptors for joining it.
void encode_group(Writer& rest, std::vector<int>& fds, const ExecGroup& group) {
  sys::Cgroup::Parts parts = group.group->parts();
  fds.insert(fds.end(), parts.folders.begin(), parts.folders.end());
  for (const UniqueFd& fd : group.join_fds) fds.push_back(fd.get());
  rest.text(group.name).number(static_cast<uint64_t>(parts.version)).number(parts.kinds.size());
  for (unsigned kind : parts.kinds) rest.number(kind);
}

}  // namespace

SpawnServer::SpawnServer(UniqueFd channel, SandboxFactory factory, std::vector<std::string> workspace_roots,
                         HostRuns::Rules host, Callers callers)
    : channel_(std::move(channel)),
      factory_(std::move(factory)),
      engine_factory_(factory_.places(), sys::find_folder(sys::kStateFolder).value_or(factory_.places().cache)),
      workspace_roots_(std::move(workspace_roots)),
      host_runs_(std::move(host)),
      callers_(std::move(callers)) {}

Result<int> SpawnServer::run(pid_t server) {
  server_ = server;
  raise_descriptor_limit();
  // Process 1 of a sandbox whose builder has ended becomes a child of this process and is reaped here.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  factory_.begin_to_serve();
  ::signal(SIGPIPE, SIG_IGN);
  // Finishes ending sandboxes before this process exits.
  while (!closed_ || !endings_.empty()) {
    const bool idle = resources_by_id_.empty() && endings_.empty() && helpers_.empty();
    if (idle) factory_.rest();
    serve(idle ? -1 : kTendMilliseconds);
    reap();
  }
  factory_.stop_serving();
  if (!server_status_) server_status_ = COVE_TRY(sys::wait_for(server_));
  return WIFEXITED(*server_status_) ? WEXITSTATUS(*server_status_) : 128 + WTERMSIG(*server_status_);
}

void SpawnServer::serve(int patience) {
  std::vector<pollfd> polled = {{closed_ ? -1 : channel_.get(), POLLIN, 0}};
  std::vector<std::string> builders;
  for (const auto& [id, resources] : resources_by_id_) {
    if (resources->builder_fd() < 0) continue;
    builders.push_back(id);
    polled.push_back({resources->builder_fd(), POLLIN, 0});
  }
  const size_t first_run = polled.size();
  host_runs_.poll_for(polled);  // they are reaped afterwards
  const size_t first_ending = polled.size();
  for (const Ending& ending : endings_) polled.push_back({ending.fd(), POLLIN, 0});
  const size_t first_aside = polled.size();
  for (const Helper& helper : helpers_) polled.push_back({helper.answer.get(), POLLIN, 0});
  int ready = ::poll(polled.data(), polled.size(), patience);
  if (ready == 0) factory_.maintain();
  check_helpers(polled, first_aside);
  polled.resize(first_aside);
  check_endings(polled, first_ending);
  if (ready <= 0) return;
  for (size_t i = 1; i < first_run; ++i)
    if (polled[i].revents) take_builder_message(builders[i - 1]);
  if (polled[0].revents) take_messages();
}

void SpawnServer::take_messages() {
  for (int i = 0; i < kMessagesPerTurn && !closed_; ++i) {
    Result<sys::Message> message = sys::receive_message(channel_.get(), spawn::kMaxMessage, MSG_DONTWAIT);
    if (!message && message.error().errnum() == EAGAIN) return;
    if (!message && message.error().errnum() == 0) continue;  // too long: no caller waits for its reply
    closed_ = !message || message->data.empty();
    if (!closed_) handle(std::move(*message));
  }
}

void SpawnServer::handle(sys::Message message) {
  Reader in(message.data);
  auto type = static_cast<Type>(in.number());
  uint64_t token = in.number();
  if (!in.ok() || message.fds.size() > kMaxFds) return;
  Result<void> answered = answer(type, token, in, std::move(message.fds));
  if (answered) return;
  Writer failure = spawn::message(Type::Failed, token);
  failure.text(encode_error(answered.error()));
  send(failure);
}

Result<void> SpawnServer::answer(Type type, uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  switch (type) {
    case Type::Create:
      return create(token, in, std::move(fds));
    case Type::Adopt:
      return adopt(token, in);
    case Type::RemoveFiles:
      return remove_files(token, in);
    case Type::Sweep:
      return sweep(token, in);
    case Type::Spare:
      return spare(token, in);
    case Type::AdoptGroup:
      return adopt_group(token, in);
    case Type::KillGroup:
      COVE_TRY(COVE_TRY(resources_of(in))->kill_exec_group(in.text()));
      return done(token);
    case Type::RetireGroup:
      if (Result<LocalResources*> resources = resources_of(in)) (*resources)->retire_exec_group(in.text());
      return {};
    case Type::Freeze:
      COVE_TRY(COVE_TRY(resources_of(in))->freeze());
      return done(token);
    case Type::Thaw:
      COVE_TRY(COVE_TRY(resources_of(in))->thaw());
      return done(token);
    case Type::SetLimits:
      return set_limits(token, in);
    case Type::Usage:
      return usage(token, in);
    case Type::LayerUsage:
      return done(token, Writer().number(COVE_TRY(COVE_TRY(resources_of(in))->layer_usage())));
    case Type::Kill:
      if (Result<LocalResources*> resources = resources_of(in)) (*resources)->kill();
      return {};
    case Type::Destroy:
      return destroy(token, in);
    case Type::Release:
      resources_by_id_.erase(in.text());
      return {};
    case Type::RunOnHost:
      return run_on_host(token, in, std::move(fds));
    case Type::RecordBase:
      return record_base(token, in, std::move(fds));
    case Type::PinWorkspace:
      return pin_workspace(token, in, fds);
    case Type::KillOnHost:
      host_runs_.kill(in.text());
      return {};
    case Type::FindLayers:
      return find_layers(token, in);
    case Type::UnpackLayer:
      return unpack_layer(token, in, std::move(fds));
    case Type::AssembleImage:
      return assemble_image(token, in);
    case Type::ExamineLayer:
      return examine_layer(token, in);
    case Type::SweepImages:
      return sweep_images(token, in);
    case Type::EngineImage:
      return engine_image(token, in);
    case Type::ExamineRuntime:
      return examine_runtime(token, in);
    case Type::OpenNetwork:
      return open_network(token, in);
    case Type::StartGateway:
      return start_gateway(token);
    case Type::Diagnose:
      return diagnose(token);
    default:
      return fail(Code::Invalid, "unknown request");
  }
}

Result<LocalResources*> SpawnServer::resources_of(Reader& in) {
  std::string id = in.text();
  auto found = resources_by_id_.find(id);
  if (found == resources_by_id_.end()) return fail(Code::NotFound, concat("cove-spawn has no sandbox ", id));
  return found->second.get();
}

Result<void> SpawnServer::create(uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  SandboxSpec spec = COVE_TRY(spawn::decode_spec(in));
  if (spec.workspace.access == Access::None) return create_with(token, std::move(spec), {});
  auto go_on = [this, token, spec](ShownFolder shown) { return create_with(token, spec, std::move(shown)); };
  return with_workspace({token, spec.workspace, fds.empty() ? -1 : fds[0].get(), "open the workspace"}, go_on);
}

Result<void> SpawnServer::create_with(uint64_t token, SandboxSpec spec, ShownFolder shown) {
  if (resources_by_id_.contains(spec.id)) return fail(Code::Exists, concat("sandbox ", spec.id, " exists already"));
  if (is_engine_runtime(spec.runtime)) return create_in_engine(token, std::move(spec), std::move(shown.folder));
  UniqueFd mount, repository;
  // The folder itself, independent of its path. Only root can create a mount of it here.
  const bool root = ::geteuid() == 0;
  if (root && shown.folder) mount = COVE_TRY(sys::open_tree_clone(shown.folder.get(), "", sys::Subtree::One));
  if (root && shown.repository)
    repository = COVE_TRY(sys::open_tree_clone(shown.repository.get(), "", sys::Subtree::One));
  spec.workspace.mount = mount.get();
  spec.workspace.repository = repository.get();
  spec.workspace.worktree = shown.worktree;
  return created(token, COVE_TRY(factory_.create(spec)));
}

// A child waits for the engine, which may take long. The sandbox's sockets stay in this process.
Result<void> SpawnServer::create_in_engine(uint64_t token, SandboxSpec spec, UniqueFd folder) {
  spec.workspace.mount = folder.get();
  auto pending = std::make_shared<docker::PendingContainer>(COVE_TRY(engine_factory_.prepare(spec)));
  auto build = [&]() -> Result<Writer> {
    Writer rest;
    docker::encode(rest, COVE_TRY(engine_factory_.build(*pending)));
    return rest;
  };
  return run_helper(token, build, [this, token, pending](Reader& in, const std::vector<UniqueFd>&) -> Result<void> {
    return created(token, COVE_TRY(engine_factory_.finish(std::move(*pending), docker::decode_built_container(in))));
  });
}

Result<void> SpawnServer::adopt(uint64_t token, Reader& in) {
  SandboxSpec spec = COVE_TRY(spawn::decode_spec(in));
  resources_by_id_.erase(spec.id);
  const bool in_engine = is_engine_runtime(spec.runtime);
  return created(token, COVE_TRY(in_engine ? engine_factory_.adopt(spec) : factory_.adopt(spec)));
}

Result<void> SpawnServer::created(uint64_t token, CreatedSandbox created) {
  Writer rest;
  native::encode(rest, created.holding);
  rest.number(created.spec.limits.disk.value).number(created.resources->has_groups() ? 1 : 0);
  rest.text(created.resources->usage_folder());
  created.resources->leave_reaping_to_caller();
  // The first exec will follow soon. Errors are ignored here and reported when the group is requested again.
  Result<ExecGroup> group = created.resources->has_groups() ? created.resources->take_exec_group() : ExecGroup();
  std::vector<int> fds = {created.control.get()};
  const bool spare = group && group->group;
  rest.number(spare ? 1 : 0);
  if (spare) encode_group(rest, fds, *group);
  resources_by_id_[created.spec.id] = std::move(created.resources);
  return done(token, rest, fds);
}

Result<void> SpawnServer::remove_files(uint64_t token, Reader& in) {
  std::string id = in.text();
  std::string runtime = in.text();
  if (!in.done() || !spawn::is_sandbox_id(id)) return fail(Code::Invalid, "invalid sandbox id");
  if (is_engine_runtime(runtime))
    return run_helper(token, [&]() -> Result<Writer> {
      COVE_TRY(engine_factory_.remove_files(id));
      return Writer();
    });
  COVE_TRY(factory_.remove_files(id));
  return done(token);
}

Result<void> SpawnServer::sweep(uint64_t token, Reader& in) {
  bool last = in.number() != 0;
  for (std::string& id : in.texts()) known_.push_back(std::move(id));
  if (!in.done() || known_.size() > spawn::kMaxKnown) {
    known_.clear();
    return fail(Code::Invalid, "invalid list of known sandboxes");
  }
  if (!last) return done(token);
  std::vector<std::string> known = std::exchange(known_, {});
  COVE_TRY(factory_.sweep(known));
  if (!engine_factory_.used()) return done(token);
  return run_helper(token, [&]() -> Result<Writer> {
    COVE_TRY(engine_factory_.sweep(known));
    return Writer();
  });
}

Result<void> SpawnServer::spare(uint64_t token, Reader& in) {
  LocalResources* resources = COVE_TRY(resources_of(in));
  if (!in.done()) return fail(Code::Invalid, "the request is malformed");
  ExecGroup group = COVE_TRY(resources->take_exec_group());
  std::vector<int> fds;
  Writer rest;
  encode_group(rest, fds, group);
  COVE_TRY(done(token, rest, fds));
  resources->remove_retired();
  return {};
}

Result<void> SpawnServer::adopt_group(uint64_t token, Reader& in) {
  LocalResources* resources = COVE_TRY(resources_of(in));
  std::string name = in.text();
  if (!in.done() || !spawn::is_group_name(name)) return fail(Code::Invalid, "invalid group name");
  ExecGroup group{name, COVE_TRY(resources->adopt_exec_group(name)), {}};
  std::vector<int> fds;
  Writer rest;
  encode_group(rest, fds, group);
  return done(token, rest, fds);
}

Result<void> SpawnServer::set_limits(uint64_t token, Reader& in) {
  LocalResources* resources = COVE_TRY(resources_of(in));
  Limits limits = spawn::decode_limits(in);
  if (!in.done()) return fail(Code::Invalid, "the limits are malformed");
  auto work = [&]() -> Result<Writer> {
    COVE_TRY(resources->set_limits(limits));
    return Writer();
  };
  if (resources->waits_for_others()) return run_helper(token, work);
  return done(token, COVE_TRY(work()));
}

Result<void> SpawnServer::usage(uint64_t token, Reader& in) {
  Writer rest;
  spawn::encode(rest, COVE_TRY(COVE_TRY(resources_of(in))->usage()));
  return done(token, rest);
}

// The reply is sent when it has ended.
Result<void> SpawnServer::run_on_host(uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  std::string id = in.text();
  if (!spawn::is_sandbox_id(id)) return fail(Code::Invalid, "invalid run id");
  HostRunOrder order = COVE_TRY(spawn::decode_host_order(in));
  if (fds.empty()) return fail(Code::Invalid, "the request has too few descriptors");
  UserCredentials user = COVE_TRY(callers_.identify(fds[0].get()));
  fds.erase(fds.begin());
  return host_runs_.start(token, id, order, user, std::move(fds));
}

void SpawnServer::take_builder_message(const std::string& id) {
  auto found = resources_by_id_.find(id);
  if (found == resources_by_id_.end()) return;
  LocalResources& resources = *found->second;
  Writer message;
  if (resources.built()) {
    // A builder that watched the sandbox's memory has seen its end.
    SandboxEnded end = resources.how_it_ended();
    if (end.out_of_memory) send(message.number(static_cast<uint64_t>(Type::OutOfMemory)).number(0).text(id));
    resources.drop_builder();
    return;
  }
  Result<void> ready = resources.ready();
  message.number(static_cast<uint64_t>(ready ? Type::Built : Type::Broken)).number(0).text(id);
  if (!ready) {
    resources.drop_builder();
    message.text(encode_error(ready.error()));
  }
  send(message);
}

void SpawnServer::reap() {
  int status = 0;
  struct rusage usage = {};
  for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    if (pid == server_) server_status_ = status;
    HostRuns::Ended ended = host_runs_.take(pid, status, usage);
    if (ended.token == 0) continue;
    Writer rest;
    spawn::encode(rest, ended.end);
    static_cast<void>(done(ended.token, rest));
  }
}

Result<void> SpawnServer::done(uint64_t token, const Writer& rest, const std::vector<int>& fds) {
  Writer message = spawn::message(Type::Done, token);
  COVE_TRY(sys::send_message(channel_.get(), message.data() + rest.data(), fds));
  return {};
}

void SpawnServer::send(const Writer& message, const std::vector<int>& fds, std::string_view rest) {
  static_cast<void>(sys::send_message(channel_.get(), concat(message.data(), rest), fds));
}

}  // namespace cove::spawn
