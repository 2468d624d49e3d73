#pragma once

#include <optional>
#include <string>

#include "model/limits.h"

namespace cove {

// The most that a caller may ask for. Zero: not capped.
struct Maxima {
  Limits most = no_limits();
};

// A limit above the most, or below the least, that can be asked for.
struct ImpossibleLimit {
  std::string name;   // of the limit: "memory"
  std::string value;  // as people write it
  std::string bound;  // "more than this machine has (23.5 GiB)"
};

// The first limit that the caller named and that cannot be; defaults are not looked at.
std::optional<ImpossibleLimit> find_impossible(const Limits& limits, const Maxima& maxima);

// Whether the caller named any limit that a machine can have too little for.
bool names_capped_limit(const Limits& limits);

}  // namespace cove
