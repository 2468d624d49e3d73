#include "base/result.h"

#include <cerrno>

namespace cove {

std::unexpected<Error> fail_errno(std::string what) {
  return std::unexpected<Error>(Error::from_errno(errno, std::move(what)));
}

}  // namespace cove
