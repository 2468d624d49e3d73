#pragma once

#include <string>

#include "model/runtime_kind.h"
#include "runtime/runtime.h"

namespace cove::native {

enum class ControlGroups { Missing, Usable };

// The capabilities of sandboxes whose process 1 is cove-init, by isolation backend.
inline Capabilities runtime_capabilities(const std::string& runtime, ControlGroups groups) {
  const bool held = groups == ControlGroups::Usable;
  const bool own_kernel = has_own_kernel(runtime);
  const bool engine = is_engine_runtime(runtime);
  return {.name = runtime,
          .pause = held,
          .update_limits = held && !own_kernel,
          .adopt = true,
          .dial = !own_kernel,
          .nesting = runtime == "native",
          .pty = true,
          .review_layer = !engine,
          .waiting_scripts = runtime == "native",
          .compile_step = true,
          .own_images = engine,
          .network = !engine};
}

}  // namespace cove::native
