#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "layer/pool_size.h"

// The file that holds the pool's file system, and the room in this. The caller holds the pool's lock.
namespace cove {

// Opens the image in the folder `state`; NotFound where there is none.
Result<UniqueFd> open_pool_image(int state);
// Makes an image of `bytes` with an empty btrfs. It has no name yet: a process that is killed leaves nothing.
Result<UniqueFd> make_pool_image(int state, uint64_t bytes);
Result<void> name_pool_image(int state, int image);
// Allocates blocks up to `bytes`. Exhausted, with nothing changed, where the host's disk would become too full.
Result<void> grow_pool_image(int image, uint64_t bytes);
void remove_pool_image(int state);
// Gives what lies beyond `bytes` back to the host's disk; the file system must have let go of it.
Result<void> shorten_pool_image(int image, uint64_t bytes);

// `root` is any descriptor on the mounted file system.
Result<PoolSpace> measure_pool_space(int root, const std::string& uuid);
// A new file system's only chunk of metadata is tiny, and the kernel would let data take all room before it makes
// another: replaces it by one of the usual size.
Result<void> enlarge_metadata(int root);

}  // namespace cove
