#include "conformance/conformance.h"
#include "runtime/native/native_runtime.h"

namespace cove::test {
namespace {

Result<std::unique_ptr<Runtime>> make_native() { return native::make_native_runtime(COVE_TRY(native::find_places())); }

// As on a kernel that cannot map the ids of layers; only root has ranges to share.
Result<std::unique_ptr<Runtime>> make_sharing() {
  return native::make_native_runtime(COVE_TRY(native::find_places()), native::IdRanges::Shared);
}

INSTANTIATE_TEST_SUITE_P(Native, Conformance,
                         testing::Values(RuntimeUnderTest{"native", make_native},
                                         RuntimeUnderTest{"native_shared_ids", make_sharing}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
