#include "runtime/docker/engine_resources.h"

namespace cove::docker {

Result<void> EngineResources::set_limits(const Limits& limits) {
  return has_groups() ? LocalResources::set_limits(limits) : containers_.set_limits(id_, limits_order(limits));
}

// Errors are ignored: the engine removes its own group with everything in it.
Result<void> EngineResources::destroy(Files files) {
  static_cast<void>(LocalResources::destroy(files));
  return files == Files::Keep ? containers_.stop(id_) : containers_.remove(id_);
}

}  // namespace cove::docker
