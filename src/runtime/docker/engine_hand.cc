#include "runtime/docker/engine_hand.h"

namespace cove::docker {

Result<void> EngineHand::set_limits(const Limits& limits) {
  return has_groups() ? LocalHand::set_limits(limits) : containers_.set_limits(id_, limits_order(limits));
}

// Whether the groups could be removed does not matter: the engine removes its own with all that is in it.
Result<void> EngineHand::destroy(Files files) {
  static_cast<void>(LocalHand::destroy(files));
  return files == Files::Keep ? containers_.stop(id_) : containers_.remove(id_);
}

}  // namespace cove::docker
