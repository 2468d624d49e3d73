#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// Block devices whose content is a file.
namespace cove::sys {

struct LoopDevice {
  UniqueFd fd;
  std::string path;  // /dev/loop3
};

// Attaches the file to a free loop device, with direct I/O where its file system can. The device lets go of the file
// by itself when the last one that has it open or mounted is gone.
Result<LoopDevice> attach_loop(int file);
// The loop device that the file is attached to, if there is one.
Result<std::optional<LoopDevice>> find_loop(int file);
// Takes notice of the file's new size.
Result<void> refresh_loop_size(const LoopDevice& device);

}  // namespace cove::sys
