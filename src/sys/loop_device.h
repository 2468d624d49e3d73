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

// Attaches the file to a free loop device, with direct I/O if its file system supports it. The device detaches
// automatically when it is not open or mounted any more.
Result<LoopDevice> attach_loop(int file);
// The loop device that the file is attached to, if there is one.
Result<std::optional<LoopDevice>> find_loop(int file);
// Updates the device after the file's size changed.
Result<void> refresh_loop_size(const LoopDevice& device);

}  // namespace cove::sys
