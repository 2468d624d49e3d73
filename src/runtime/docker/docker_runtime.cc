#include "runtime/docker/docker_runtime.h"

#include "base/text.h"
#include "runtime/docker/engine_factory.h"
#include "runtime/docker/engine_socket.h"
#include "runtime/native/capabilities.h"
#include "runtime/native/native_sandbox.h"

namespace cove::docker {
namespace {

// The caller waits while the engine is examined.
constexpr std::chrono::seconds kTimeout(3);

class EngineRuntime : public Runtime {
 public:
  EngineRuntime(std::string runtime, native::Places places, std::string state)
      : runtime_(std::move(runtime)), factory_(std::move(places), std::move(state)) {}

  Capabilities capabilities() const override {
    return native::runtime_capabilities(runtime_, native::ControlGroups::Usable);
  }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    return COVE_TRY(sandbox_of(COVE_TRY(factory_.create(own(spec)))));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<native::NativeSandbox> sandbox = COVE_TRY(sandbox_of(COVE_TRY(factory_.adopt(own(spec)))));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<ImageConfig> image(const std::string&, const std::string& name) override {
    return factory_.image(runtime_, name);
  }
  Result<void> remove_files(const SandboxSpec& spec) override { return factory_.remove_files(spec.id); }
  Result<void> sweep(const std::vector<std::string>& known) override { return factory_.sweep(known); }

 private:
  SandboxSpec own(SandboxSpec spec) const {
    spec.runtime = runtime_;
    return spec;
  }

  static Result<std::unique_ptr<native::NativeSandbox>> sandbox_of(native::CreatedSandbox created) {
    return native::NativeSandbox::create({std::move(created.spec), std::move(created.holding),
                                          std::move(created.resources), std::move(created.control)});
  }

  std::string runtime_;
  EngineFactory factory_;
};

}  // namespace

RuntimeFact examine(const std::string& runtime) {
  RuntimeFact fact{.name = runtime, .title = find_runtime_kind(runtime)->title};
  Result<EngineFacts> engine = [&]() -> Result<EngineFacts> {
    Engine found(COVE_TRY(find_engine_socket(runtime)), kTimeout);
    fact.program = found.socket();
    EngineFacts facts = COVE_TRY(found.facts());
    COVE_TRY(check_kind(facts, runtime, found.socket()));
    return facts;
  }();
  fact.available = engine.has_value();
  if (engine) {
    fact.version = concat(std::string_view(engine->title()), " ", engine->version);
    fact.problem = age_warning(*engine);
    if (!fact.problem.empty()) fact.remedy = "it is used anyway; install a newer one";
  } else {
    fact.problem = engine.error().message();
    fact.remedy = engine.error().hint().empty() ? "check the engine's log and restart it" : engine.error().hint();
  }
  return fact;
}

std::unique_ptr<Runtime> make_engine_runtime(const std::string& runtime, native::Places places,
                                             const std::string& state) {
  return std::make_unique<EngineRuntime>(runtime, std::move(places), state);
}

}  // namespace cove::docker
