#include "conformance/conformance.h"
#include "runtime/native/native_runtime.h"

namespace cove::test {
namespace {

Result<std::unique_ptr<Runtime>> make_crun() {
  return native::make_oci_runtime(COVE_TRY(native::find_places()), "crun");
}

INSTANTIATE_TEST_SUITE_P(Oci, Conformance, testing::Values(RuntimeUnderTest{"crun", make_crun}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
