#include "conformance/conformance.h"
#include "runtime/native/native_runtime.h"

namespace cove::test {
namespace {

Result<std::unique_ptr<Runtime>> make_native() {
  return native::make_native_runtime(COVE_TRY(native::find_places()));
}

INSTANTIATE_TEST_SUITE_P(Native, Conformance, testing::Values(RuntimeUnderTest{"native", make_native}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
