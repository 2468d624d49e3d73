#include "sys/loop_device.h"

#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

constexpr int kAttempts = 64;  // another process may take the free device first
constexpr uint32_t kBlockSize = 4096;

bool configure(int device, int file, uint32_t flags) {
  struct loop_config config = {};
  config.fd = static_cast<uint32_t>(file);
  config.block_size = kBlockSize;
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | flags;
  return ::ioctl(device, LOOP_CONFIGURE, &config) == 0;
}

// Whether the device is attached to exactly this file.
bool shows(int device, const struct stat& file) {
  struct loop_info64 info = {};
  return ::ioctl(device, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == file.st_ino &&
         info.lo_device == file.st_dev;
}

}  // namespace

Result<LoopDevice> attach_loop(int file) {
  UniqueFd control = COVE_TRY(open("/dev/loop-control", O_RDWR));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return fail_errno("find a free loop device");
    LoopDevice device;
    device.path = concat("/dev/loop", number);
    device.fd = COVE_TRY(open(device.path, O_RDWR));
    if (configure(device.fd.get(), file, LO_FLAGS_DIRECT_IO)) return device;
    if (errno == EINVAL && configure(device.fd.get(), file, 0)) return device;
    if (errno != EBUSY) return fail_errno(concat("attach a file to ", device.path));
  }
  return fail(Code::Exhausted, "other processes took every free loop device");
}

Result<std::optional<LoopDevice>> find_loop(int file) {
  struct stat wanted = COVE_TRY(fstat(file));
  for (const std::string& name : COVE_TRY(list_folder("/sys/block"))) {
    if (!name.starts_with("loop") || !exists(concat("/sys/block/", name, "/loop"))) continue;
    Result<UniqueFd> fd = open("/dev/" + name, O_RDWR);
    if (fd && shows(fd->get(), wanted)) return LoopDevice{std::move(*fd), "/dev/" + name};
  }
  return std::nullopt;
}

Result<void> refresh_loop_size(const LoopDevice& device) {
  if (::ioctl(device.fd.get(), LOOP_SET_CAPACITY) < 0) return fail_errno(concat("take the new size of ", device.path));
  return {};
}

}  // namespace cove::sys
