#include "conformance/conformance.h"
#include "runtime/native/native_runtime.h"

namespace cove::test {
namespace {

Result<std::unique_ptr<Runtime>> make_runc() {
  return native::make_oci_runtime(COVE_TRY(native::find_places()), "runc");
}

INSTANTIATE_TEST_SUITE_P(Oci, Conformance, testing::Values(RuntimeUnderTest{"runc", make_runc}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
