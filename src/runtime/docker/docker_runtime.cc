#include "runtime/docker/docker_runtime.h"

#include "base/text.h"
#include "runtime/docker/engine_socket.h"
#include "runtime/docker/engine_walls.h"
#include "runtime/native/capabilities.h"
#include "runtime/native/native_sandbox.h"

namespace cove::docker {
namespace {

// Whoever asks whether an engine can be used waits for the answer.
constexpr std::chrono::seconds kPatience(3);

class EngineRuntime : public Runtime {
 public:
  EngineRuntime(std::string runtime, native::Places places, std::string state)
      : runtime_(std::move(runtime)), walls_(std::move(places), std::move(state)) {}

  Capabilities capabilities() const override {
    return native::runtime_capabilities(runtime_, native::ControlGroups::Usable);
  }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    return COVE_TRY(sandbox_of(COVE_TRY(walls_.raise(own(spec)))));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<native::NativeSandbox> sandbox = COVE_TRY(sandbox_of(COVE_TRY(walls_.adopt(own(spec)))));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<ImageConfig> image(const std::string&, const std::string& name) override {
    return walls_.image(runtime_, name);
  }
  Result<void> remove_files(const SandboxSpec& spec) override { return walls_.remove_files(spec.id); }
  Result<void> sweep(const std::vector<std::string>& known) override { return walls_.sweep(known); }

 private:
  SandboxSpec own(SandboxSpec spec) const {
    spec.runtime = runtime_;
    return spec;
  }

  static Result<std::unique_ptr<native::NativeSandbox>> sandbox_of(native::Raised raised) {
    return native::NativeSandbox::create(
        {std::move(raised.spec), std::move(raised.holding), std::move(raised.hand), std::move(raised.control)});
  }

  std::string runtime_;
  EngineWalls walls_;
};

}  // namespace

RuntimeFact examine(const std::string& runtime) {
  RuntimeFact fact{.name = runtime, .title = find_runtime_kind(runtime)->title};
  Result<EngineFacts> engine = [&]() -> Result<EngineFacts> {
    Engine found(COVE_TRY(find_engine_socket(runtime)), kPatience);
    fact.program = found.socket();
    EngineFacts facts = COVE_TRY(found.facts());
    COVE_TRY(check_kind(facts, runtime, found.socket()));
    return facts;
  }();
  fact.available = engine.has_value();
  if (engine) {
    fact.version = concat(std::string_view(engine->title()), " ", engine->version);
    fact.problem = age_warning(*engine);
    if (!fact.problem.empty()) fact.remedy = "it is used all the same; install a newer one";
  } else {
    fact.problem = engine.error().message();
    fact.remedy =
        engine.error().hint().empty() ? "see what the engine's own log says, and restart it" : engine.error().hint();
  }
  return fact;
}

std::unique_ptr<Runtime> make_engine_runtime(const std::string& runtime, native::Places places,
                                             const std::string& state) {
  return std::make_unique<EngineRuntime>(runtime, std::move(places), state);
}

}  // namespace cove::docker
