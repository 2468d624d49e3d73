#include "base/text.h"
#include "model/runtime_kind.h"
#include "runtime/native/capabilities.h"
#include "runtime/native/native_sandbox.h"
#include "spawn/client.h"
#include "spawn/remote_resources.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

class SpawnedRuntime : public Runtime {
 public:
  explicit SpawnedRuntime(std::shared_ptr<SpawnClient> spawn) : spawn_(std::move(spawn)) {}

  Capabilities capabilities() const override { return capabilities_of(kNativeRuntime); }
  Capabilities capabilities_of(const std::string& runtime) const override {
    return runtime_capabilities(runtime, ControlGroups::Usable);
  }

  bool lost() const override { return spawn_->closed(); }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    std::vector<int> fds;
    if (spec.workspace.caller >= 0) fds.push_back(spec.workspace.caller);
    // A container engine replies when the sandbox is built.
    const bool is_built = is_engine_runtime(spec.runtime);
    return COVE_TRY(
        create_or_adopt(Type::Create, spec, fds,
                        is_built ? RemoteResources::Construction::Complete : RemoteResources::Construction::Pending));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<NativeSandbox> sandbox =
        COVE_TRY(create_or_adopt(Type::Adopt, spec, {}, RemoteResources::Construction::Complete));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<std::unique_ptr<HostProcess>> record_base(const Workspace& workspace) override {
    return spawned_record(spawn_, workspace);
  }

  Result<void> pin_workspace(Workspace& workspace) override {
    std::vector<int> fds;
    if (workspace.caller >= 0) fds.push_back(workspace.caller);
    Writer request;
    request.text(workspace.path).number(static_cast<uint64_t>(workspace.access));
    Result<SpawnClient::Answer> answer = spawn_->ask(Type::PinWorkspace, request, fds);
    if (!answer) return std::unexpected(answer.error());
    Reader in(answer->body);
    workspace.device = in.number();
    workspace.inode = in.number();
    if (!in.done()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    return {};
  }

  Result<void> remove_files(const SandboxSpec& spec) override {
    COVE_TRY(spawn_->ask(Type::RemoveFiles, Writer().text(spec.id).text(spec.runtime)));
    return {};
  }

  Result<RuntimeFact> examine(const std::string& runtime) override {
    if (runtime == kNativeRuntime) return Runtime::examine(runtime);
    SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::ExamineRuntime, Writer().text(runtime)));
    Reader in(answer.body);
    RuntimeFact fact{.name = runtime, .title = in.text()};
    fact.available = in.number() != 0;
    for (std::string* text : {&fact.version, &fact.program, &fact.problem, &fact.remedy}) *text = in.text();
    if (!in.done()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    return fact;
  }

  Result<ImageConfig> image(const std::string& runtime, const std::string& name) override {
    SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::EngineImage, Writer().text(runtime).text(name)));
    Reader in(answer.body);
    ImageConfig config = spawn::decode_image_config(in);
    if (!in.done()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    return config;
  }

  Result<UniqueFd> start_gateway() override {
    SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::StartGateway, Writer()));
    if (answer.fds.size() != 1) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    return std::move(answer.fds[0]);
  }

  Result<void> sweep(const std::vector<std::string>& known) override {
    constexpr size_t kPerMessage = 1000;
    for (size_t from = 0; from == 0 || from < known.size(); from += kPerMessage) {
      size_t to = std::min(known.size(), from + kPerMessage);
      std::vector<std::string> some(known.begin() + static_cast<std::ptrdiff_t>(from),
                                    known.begin() + static_cast<std::ptrdiff_t>(to));
      COVE_TRY(spawn_->ask(Type::Sweep, Writer().number(to == known.size() ? 1 : 0).texts(some)));
    }
    return {};
  }

 private:
  Result<std::unique_ptr<NativeSandbox>> create_or_adopt(Type type, const SandboxSpec& spec,
                                                         const std::vector<int>& fds,
                                                         RemoteResources::Construction construction) {
    Writer request;
    spawn::encode(request, spec);
    auto resources = std::make_unique<RemoteResources>(spawn_, spec.id, construction);
    SpawnClient::Answer answer = COVE_TRY(spawn_->ask(type, request, fds));
    Reader in(answer.body);
    NativeSandbox::Parts parts;
    parts.spec = spec;
    parts.spec.lifetime = Lifetime::Long;
    parts.holding = native::decode_holding(in);
    parts.spec.limits.disk.value = in.number();
    bool has_groups = in.number() != 0;
    resources->take_hold(has_groups, in.text());
    if (answer.fds.empty()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    parts.control = std::move(answer.fds[0]);
    answer.fds.erase(answer.fds.begin());
    COVE_TRY(resources->take_first_spare(in, std::move(answer.fds)));
    if (!in.done()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
    parts.resources = std::move(resources);
    return NativeSandbox::create(std::move(parts));
  }

  std::shared_ptr<SpawnClient> spawn_;
};

}  // namespace

std::vector<std::string> spawned_runtime_names() {
  std::vector<std::string> names;
  for (const RuntimeKind& kind : runtime_kinds()) names.push_back(kind.name);
  return names;
}

std::unique_ptr<Runtime> make_spawned_runtime(std::shared_ptr<SpawnClient> spawn) {
  return std::make_unique<SpawnedRuntime>(std::move(spawn));
}

}  // namespace cove::spawn
