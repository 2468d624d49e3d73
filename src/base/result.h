#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace cove {

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }
inline std::unexpected<Error> fail(Code code, std::string what) {
  return std::unexpected<Error>(Error(code, std::move(what)));
}
// A failed system call, errno read now.
std::unexpected<Error> fail_errno(std::string what);

}  // namespace cove

// The value of a Result, or out of this function with its error:
//   UniqueFd fd = COVE_TRY(sys::open(path, O_RDONLY));
#define COVE_TRY(...)                                                                   \
  __extension__({                                                                       \
    auto cove_try_result = (__VA_ARGS__);                                               \
    if (!cove_try_result) return std::unexpected(std::move(cove_try_result).error());   \
    std::move(cove_try_result).value();                                                 \
  })

// The same, with a note of what was attempted in front of the error.
#define COVE_TRY_NOTE(attempt, ...)                                                     \
  __extension__({                                                                       \
    auto cove_try_result = (__VA_ARGS__);                                               \
    if (!cove_try_result)                                                               \
      return std::unexpected(std::move(cove_try_result).error().note(attempt));         \
    std::move(cove_try_result).value();                                                 \
  })
