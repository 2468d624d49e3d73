#include "layer/pool_image.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "sys/btrfs.h"
#include "sys/file.h"
#include "sys/probe.h"
#include "sys/process.h"

namespace cove {
namespace {

constexpr const char* kImage = "pool.img";
constexpr int kTarget = 3;  // the descriptor of the file in mkfs.btrfs

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// The program's output if it fails; its output is read to its end first, so that it cannot block.
Result<void> run_mkfs(int file) {
  std::string program = sys::find_program("mkfs.btrfs");
  if (program.empty()) return fail(Error(Code::Unsupported, "mkfs.btrfs is not installed").hint("install btrfs-progs"));
  sys::Pipe output = COVE_TRY(sys::pipe());
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  for (int fd : {1, 2}) ::posix_spawn_file_actions_adddup2(actions.get(), output.write.get(), fd);
  ::posix_spawn_file_actions_adddup2(actions.get(), file, kTarget);
  // No discards: they would free the image's blocks.
  std::string words[] = {program,       "--quiet",    "--force",
                         "--nodiscard", "--metadata", "single",
                         "--data",      "single",     concat("/proc/self/fd/", kTarget)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid;
  int errnum = ::posix_spawn(&pid, program.c_str(), actions.get(), nullptr, argv.data(), environ);
  if (errnum != 0) return fail(Error::from_errno(errnum, concat("start ", program)));
  output.write.reset();
  Result<std::string> said = sys::read_all(output.read.get());
  if (COVE_TRY(sys::wait_for(pid)) == 0) return {};
  return fail(Code::Internal, concat(program, ": ", trim(said.value_or(""))));
}

Result<void> copy_data(int from, int to) {
  off_t data = 0;
  while ((data = ::lseek(from, data, SEEK_DATA)) >= 0) {
    off_t end = ::lseek(from, data, SEEK_HOLE);
    if (end < 0 || ::lseek(to, data, SEEK_SET) < 0) return fail_errno("seek");
    while (data < end)
      if (::sendfile(to, from, &data, static_cast<size_t>(end - data)) <= 0)
        return fail_errno("write the pool's image");
  }
  return errno == ENXIO ? Result<void>() : fail_errno("seek");
}

// Created in memory and copied, because mkfs.btrfs waits for the disk a dozen times.
Result<void> make_file_system(int image, uint64_t bytes) {
  UniqueFd memory(::memfd_create("pool", MFD_CLOEXEC));
  if (!memory) return fail_errno("memfd_create");
  if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) < 0) return fail_errno("ftruncate");
  COVE_TRY(run_mkfs(memory.get()));
  return copy_data(memory.get(), image);
}

// On a copy-on-write file system an allocated block would not be where the next write goes.
void overwrite_in_place(int image) {
  int flags = 0;
  if (::ioctl(image, FS_IOC_GETFLAGS, &flags) < 0) return;
  flags |= FS_NOCOW_FL;
  static_cast<void>(::ioctl(image, FS_IOC_SETFLAGS, &flags));
}

Result<void> check_host_room(int image, uint64_t more) {
  struct statvfs disk;
  if (::fstatvfs(image, &disk) < 0) return fail_errno("statvfs of the pool's image");
  uint64_t available = disk.f_bavail * disk.f_frsize;
  uint64_t reserve = host_reserve(disk.f_blocks * disk.f_frsize);
  if (available >= more + reserve) return {};
  return fail(Error(Code::Exhausted,
                    concat("the pool needs ", format_bytes(more), " more, but of the ", format_bytes(available),
                           " that are free on the host's disk ", format_bytes(reserve), " must stay free"))
                  .hint("free space on that disk, or use a smaller disk limit"));
}

// For the chunks of one kind: "data", "metadata".
Result<uint64_t> free_bytes(const std::string& uuid, std::string_view kind) {
  auto read = [&](std::string_view name) -> Result<uint64_t> {
    std::string path = concat("/sys/fs/btrfs/", uuid, "/allocation/", kind, "/", name);
    return static_cast<uint64_t>(COVE_TRY(parse_integer(trim(COVE_TRY(sys::read_file(path, 64))), 0, INT64_MAX)));
  };
  uint64_t taken = 0;
  for (const char* name : {"bytes_used", "bytes_may_use", "bytes_reserved", "bytes_pinned", "bytes_readonly"})
    taken += COVE_TRY(read(name));
  // Reservations may exceed the chunks, backed by unallocated space.
  uint64_t total = COVE_TRY(read("total_bytes"));
  return total - std::min(total, taken);
}

}  // namespace

Result<UniqueFd> open_pool_image(int state) { return sys::openat(state, kImage, O_RDWR | O_NOFOLLOW); }

Result<UniqueFd> make_pool_image(int state, uint64_t bytes) {
  UniqueFd image = COVE_TRY(sys::openat(state, ".", O_TMPFILE | O_RDWR, 0600));
  overwrite_in_place(image.get());
  COVE_TRY(grow_pool_image(image.get(), bytes));
  COVE_TRY(make_file_system(image.get(), bytes));
  return image;
}

Result<void> name_pool_image(int state, int image) {
  if (::linkat(AT_FDCWD, sys::fd_path(image).c_str(), state, kImage, AT_SYMLINK_FOLLOW) < 0)
    return fail_errno("name the pool's image");
  return {};
}

Result<void> grow_pool_image(int image, uint64_t bytes) {
  struct stat info = COVE_TRY(sys::fstat(image));
  auto size = static_cast<uint64_t>(info.st_size);
  if (bytes <= size) return {};
  COVE_TRY(check_host_room(image, bytes - size));
  // Not posix_fallocate, which writes zeros if the file system has no support.
  if (::fallocate(image, 0, info.st_size, static_cast<off_t>(bytes - size)) == 0) return {};
  Error error = Error::from_errno(errno, concat("allocate ", format_bytes(bytes - size), " for the pool's image"));
  if (::ftruncate(image, info.st_size) < 0) return fail_errno("shorten the pool's image");
  return fail(std::move(error));
}

Result<void> shorten_pool_image(int image, uint64_t bytes) {
  if (::ftruncate(image, static_cast<off_t>(bytes)) < 0) return fail_errno("shorten the pool's image");
  return {};
}

void remove_pool_image(int state) { ::unlinkat(state, kImage, 0); }

Result<PoolSpace> measure_pool_space(int root, const std::string& uuid) {
  struct btrfs_ioctl_dev_info_args device = {};
  device.devid = 1;
  if (::ioctl(root, BTRFS_IOC_DEV_INFO, &device) < 0) return fail_errno("read the size of the pool");
  PoolSpace space;
  space.size = device.total_bytes;
  space.unallocated = device.total_bytes - std::min(device.total_bytes, device.bytes_used);
  space.data_free = COVE_TRY(free_bytes(uuid, "data"));
  space.metadata_free = COVE_TRY(free_bytes(uuid, "metadata"));
  space.chunks_end = COVE_TRY(sys::btrfs::end_of_chunks(root));
  return space;
}

Result<void> enlarge_metadata(int root) {
  struct btrfs_ioctl_balance_args args = {};
  args.flags = BTRFS_BALANCE_METADATA;
  if (::ioctl(root, BTRFS_IOC_BALANCE_V2, &args) < 0) return fail_errno("balance the metadata of the pool");
  return {};
}

}  // namespace cove
