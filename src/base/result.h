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

#define COVE_JOIN_WORDS(a, b) a##b
#define COVE_JOIN(a, b) COVE_JOIN_WORDS(a, b)

// The value of a Result, or out of this function with its error:
//   UniqueFd fd = COVE_TRY(sys::open(path, O_RDONLY));
#define COVE_TRY(...) COVE_TRY_AS(COVE_JOIN(cove_result_, __COUNTER__), __VA_ARGS__)
#define COVE_TRY_AS(result, ...)                                    \
  __extension__({                                                   \
    auto result = (__VA_ARGS__);                                    \
    if (!result) return std::unexpected(std::move(result).error()); \
    std::move(result).value();                                      \
  })

// The same, with a note of what was attempted in front of the error.
#define COVE_TRY_NOTE(attempt, ...) COVE_TRY_NOTE_AS(COVE_JOIN(cove_result_, __COUNTER__), attempt, __VA_ARGS__)
#define COVE_TRY_NOTE_AS(result, attempt, ...)                                    \
  __extension__({                                                                 \
    auto result = (__VA_ARGS__);                                                  \
    if (!result) return std::unexpected(std::move(result).error().note(attempt)); \
    std::move(result).value();                                                    \
  })
