#include "conformance/conformance.h"
#include "runtime/native/native_runtime.h"

namespace cove::test {
namespace {

Result<std::unique_ptr<Runtime>> make_runsc() {
  return native::make_oci_runtime(COVE_TRY(native::find_places()), "runsc");
}

INSTANTIATE_TEST_SUITE_P(Oci, Conformance, testing::Values(RuntimeUnderTest{"runsc", make_runsc}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
