#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "layer/pool_size.h"

// The file of the pool's file system, and the room in it. The caller must hold the pool's lock.
namespace cove {

// Opens the image in the folder `state`; NotFound if there is none.
Result<UniqueFd> open_pool_image(int state);
// Creates an image of `bytes` with an empty btrfs. It has no name yet, so that a killed process leaves nothing behind.
Result<UniqueFd> make_pool_image(int state, uint64_t bytes);
Result<void> name_pool_image(int state, int image);
// Allocates blocks up to `bytes`. Exhausted, with nothing changed, if the host's disk would become too full.
Result<void> grow_pool_image(int image, uint64_t bytes);
void remove_pool_image(int state);
// Frees the space beyond `bytes` on the host's disk; the file system must have been shrunk before.
Result<void> shorten_pool_image(int image, uint64_t bytes);

// `root` is any descriptor on the mounted file system.
Result<PoolSpace> measure_pool_space(int root, const std::string& uuid);
// A new file system's only metadata chunk is tiny, and the kernel would let data use all space before it allocates
// another: replaces it by one of the usual size.
Result<void> enlarge_metadata(int root);

}  // namespace cove
