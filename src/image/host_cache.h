#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// The folder of host images: one for each state of the machine's packages, of which few are still useful.
namespace cove {

// The prefix of folders that are being created or removed.
inline constexpr std::string_view kHalfMade = "tmp-";

// The number of unused images to keep besides `current`: two versions of Cove, or two users' views of the machine, may
// alternate.
inline constexpr size_t kSpareHostImages = 3;

// Removes incomplete images of killed processes, and images that are neither `current`, nor spare, nor in use (held, or
// mounted in a sandbox). At most a few at a time, because a start waits for it. The caller must hold the lock of the
// folder. Failures are ignored.
void prune_host_images(const std::string& host, const std::string& current);

// Prevents an image from being removed while the descriptor is open. NotFound if it is gone.
Result<UniqueFd> hold_host_image(const std::string& image);

}  // namespace cove
