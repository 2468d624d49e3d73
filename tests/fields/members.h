#pragma once

#include <cstddef>
#include <utility>

namespace cove {

// Converts to whatever a member wants.
struct AnyMember {
  template <typename T>
  operator T() const;
};

template <typename T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember())...}; };
}

// How many members an aggregate has.
template <typename T, size_t kCount = 1>
constexpr size_t members_of() {
  if constexpr (!takes<T>(std::make_index_sequence<kCount>()))
    return kCount - 1;
  else
    return members_of<T, kCount + 1>();
}

}  // namespace cove
