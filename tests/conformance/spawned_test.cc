#include "conformance/spawned.h"

#include "conformance/conformance.h"

namespace cove::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Spawned, Conformance,
                         testing::Values(RuntimeUnderTest{"native_spawned", make_spawned},
                                         RuntimeUnderTest{"runc_spawned", make_spawned, "runc"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace cove::test
