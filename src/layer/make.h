#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "layer/choose.h"
#include "layer/layer.h"

namespace cove {

// Looks at the machine; nothing is made.
LayerFacts find_layer_facts(const std::string& state);

// A new layer in the state folder, as chosen.
Result<std::unique_ptr<Layer>> make_layer(const LayerChoice& choice, const std::string& state, const std::string& id,
                                          Lifetime lifetime);
// A layer that was made with Lifetime::Long and kept, by this process or another.
Result<std::unique_ptr<Layer>> find_layer(const std::string& state, const std::string& id);

}  // namespace cove
