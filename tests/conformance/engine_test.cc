// The suite in containers of a real engine; COVE_TEST_ENGINE says which.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "conformance/conformance.h"
#include "conformance/spawned.h"
#include "runtime/docker/docker_runtime.h"
#include "support/child.h"
#include "support/container_engine.h"

namespace cove::test {
namespace {

std::string engine_kind() {
  const char* kind = ::getenv("COVE_TEST_ENGINE");
  return kind ? kind : "podman";
}

// One engine for all tests.
class WithEngine : public testing::Environment {
 public:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    engine_ = std::make_unique<ContainerEngine>(engine_kind());
    ASSERT_TRUE(engine_->running()) << "the engine did not start";
    ::setenv("DOCKER_HOST", ("unix://" + engine_->socket()).c_str(), 1);
    ::setenv("COVE_STATE", (engine_->folder() + "/state").c_str(), 1);
    std::filesystem::create_directory(engine_->folder() + "/state");
  }
  void TearDown() override { engine_.reset(); }

 private:
  std::unique_ptr<ContainerEngine> engine_;
};

[[maybe_unused]] const testing::Environment* const kEngine = testing::AddGlobalTestEnvironment(new WithEngine);

Result<std::unique_ptr<Runtime>> make_engine() {
  return docker::make_engine_runtime(engine_kind(), COVE_TRY(native::find_places()), ::getenv("COVE_STATE"));
}

INSTANTIATE_TEST_SUITE_P(
    Engine, Conformance,
    testing::Values(RuntimeUnderTest{engine_kind(), make_engine, engine_kind(), ContainerEngine::kImage},
                    RuntimeUnderTest{engine_kind() + "_spawned", make_spawned, engine_kind(), ContainerEngine::kImage}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
