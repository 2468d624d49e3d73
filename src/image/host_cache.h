#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// The folder of host images: one for each state that the machine's packages have had, of which few are still of use.
namespace cove {

// What is in the folder under such a name is being made, or being removed.
inline constexpr std::string_view kHalfMade = "tmp-";

// As many images that nobody uses stay, beside `current`: two programs, or two users' views of the machine, may take
// turns.
inline constexpr size_t kSpareHostImages = 3;

// Removes what a killed process left half-made, and images that are neither `current`, nor spare, nor in use: those
// that someone holds, and those that a sandbox shows. At most a few at a time, because a start waits for it. For
// whoever holds the lock of the folder. What cannot be removed stays.
void prune_host_images(const std::string& host, const std::string& current);

// Keeps an image from being removed for as long as the descriptor is open. NotFound where it is gone.
Result<UniqueFd> hold_host_image(const std::string& image);

}  // namespace cove
