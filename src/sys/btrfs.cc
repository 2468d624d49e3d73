#include "sys/btrfs.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys::btrfs {
namespace {

template <typename Args>
Result<void> call(int fd, unsigned long request, Args* args, const std::string& what) {
  if (::ioctl(fd, request, args) < 0) return fail_errno(what);
  return {};
}

template <typename Args>
Result<void> set_name(Args& args, const std::string& name) {
  if (name.size() >= sizeof args.name) return fail(Code::Invalid, concat("the name ", name, " is too long"));
  std::memcpy(args.name, name.data(), name.size());
  return {};
}

std::string groups_folder(const std::string& uuid) { return concat("/sys/fs/btrfs/", uuid, "/qgroups"); }

Result<uint64_t> read_number(const std::string& path) {
  std::string text = COVE_TRY(read_file(path, 64));
  // "none" if there is no limit.
  return static_cast<uint64_t>(parse_integer(trim(text), 0, INT64_MAX).value_or(0));
}

bool subvolume_exists(int file_system, uint64_t id) {
  struct btrfs_ioctl_ino_lookup_args args = {};
  args.treeid = id;
  args.objectid = BTRFS_FIRST_FREE_OBJECTID;
  return ::ioctl(file_system, BTRFS_IOC_INO_LOOKUP, &args) == 0 || errno != ENOENT;
}

}  // namespace

Result<void> create_subvolume(int parent, const std::string& name) {
  struct btrfs_ioctl_vol_args_v2 args = {};
  COVE_TRY(set_name(args, name));
  return call(parent, BTRFS_IOC_SUBVOL_CREATE_V2, &args, concat("create subvolume ", name));
}

Result<void> create_snapshot(int source, int parent, const std::string& name, Writes writes) {
  struct btrfs_ioctl_vol_args_v2 args = {};
  args.fd = source;
  if (writes == Writes::Refused) args.flags = BTRFS_SUBVOL_RDONLY;
  COVE_TRY(set_name(args, name));
  return call(parent, BTRFS_IOC_SNAP_CREATE_V2, &args, concat("create snapshot ", name));
}

Result<void> set_writes(int subvolume, Writes writes) {
  uint64_t flags = 0;
  COVE_TRY(call(subvolume, BTRFS_IOC_SUBVOL_GETFLAGS, &flags, "get the flags of a subvolume"));
  if (writes == Writes::Refused)
    flags |= BTRFS_SUBVOL_RDONLY;
  else
    flags &= ~static_cast<uint64_t>(BTRFS_SUBVOL_RDONLY);
  return call(subvolume, BTRFS_IOC_SUBVOL_SETFLAGS, &flags, "set the flags of a subvolume");
}

Result<void> destroy_subvolume(int parent, const std::string& name) {
  struct btrfs_ioctl_vol_args args = {};
  COVE_TRY(set_name(args, name));
  return call(parent, BTRFS_IOC_SNAP_DESTROY, &args, concat("destroy subvolume ", name));
}

Result<uint64_t> subvolume_id(int file) {
  struct btrfs_ioctl_ino_lookup_args args = {};
  args.objectid = BTRFS_FIRST_FREE_OBJECTID;
  COVE_TRY(call(file, BTRFS_IOC_INO_LOOKUP, &args, "look up the subvolume"));
  return args.treeid;
}

Result<void> resize(int file_system, uint64_t bytes) {
  struct btrfs_ioctl_vol_args args = {};
  COVE_TRY(set_name(args, concat("1:", bytes)));
  return call(file_system, BTRFS_IOC_RESIZE, &args, concat("resize btrfs to ", bytes, " bytes"));
}

Result<uint64_t> size(int file_system) {
  struct btrfs_ioctl_dev_info_args args = {};
  args.devid = 1;
  COVE_TRY(call(file_system, BTRFS_IOC_DEV_INFO, &args, "read the size of btrfs"));
  return args.total_bytes;
}

Result<uint64_t> end_of_chunks(int file_system) {
  struct btrfs_ioctl_search_args args = {};
  args.key.tree_id = BTRFS_DEV_TREE_OBJECTID;
  args.key.min_objectid = args.key.max_objectid = 1;  // the device
  args.key.min_type = args.key.max_type = BTRFS_DEV_EXTENT_KEY;
  args.key.max_offset = args.key.max_transid = UINT64_MAX;
  uint64_t end = 0;
  while (true) {
    args.key.nr_items = UINT32_MAX;
    COVE_TRY(call(file_system, BTRFS_IOC_TREE_SEARCH, &args, "list the chunks of btrfs"));
    if (args.key.nr_items == 0) return end;
    size_t at = 0;
    for (uint32_t i = 0; i < args.key.nr_items; ++i) {
      struct btrfs_ioctl_search_header header;
      struct btrfs_dev_extent extent;
      std::memcpy(&header, args.buf + at, sizeof header);
      std::memcpy(&extent, args.buf + at + sizeof header, std::min<size_t>(sizeof extent, header.len));
      end = std::max<uint64_t>(end, header.offset + le64toh(extent.length));
      args.key.min_offset = header.offset + 1;
      at += sizeof header + header.len;
    }
  }
}

Result<std::string> uuid(int file_system) {
  struct btrfs_ioctl_fs_info_args args = {};
  COVE_TRY(call(file_system, BTRFS_IOC_FS_INFO, &args, "read the id of btrfs"));
  std::string text;
  for (size_t i = 0; i < sizeof args.fsid; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", args.fsid[i]);
    text += concat(i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", std::string_view(digits));
  }
  return text;
}

Result<void> enable_quota(int file_system) {
  struct btrfs_ioctl_quota_ctl_args args = {};
  args.cmd = BTRFS_QUOTA_CTL_ENABLE;
  COVE_TRY(call(file_system, BTRFS_IOC_QUOTA_CTL, &args, "enable quotas of btrfs"));
  // Existing data is counted in the background; limits take effect afterwards.
  return call<void>(file_system, BTRFS_IOC_QUOTA_RESCAN_WAIT, nullptr, "wait for the quotas of btrfs");
}

Result<void> limit_quota(int file_system, uint64_t subvolume, uint64_t bytes) {
  struct btrfs_ioctl_qgroup_limit_args args = {};
  args.qgroupid = subvolume;
  args.lim.flags = BTRFS_QGROUP_LIMIT_MAX_RFER;
  args.lim.max_rfer = bytes;
  return call(file_system, BTRFS_IOC_QGROUP_LIMIT, &args, concat("limit quota group 0/", subvolume));
}

Result<QuotaGroup> quota_group(const std::string& uuid, uint64_t subvolume) {
  std::string folder = quota_folder(uuid, subvolume);
  QuotaGroup group;
  group.used = COVE_TRY(quota_used(folder));
  group.limit = COVE_TRY(read_number(folder + "/max_referenced"));
  return group;
}

std::string quota_folder(const std::string& uuid, uint64_t subvolume) {
  return concat(groups_folder(uuid), "/0_", subvolume);
}

Result<uint64_t> quota_used(const std::string& folder) { return COVE_TRY(QuotaGauge::open(folder)).read(); }

// The amount accounted at the last commit, and the amount reserved by writers since.
Result<QuotaGauge> QuotaGauge::open(const std::string& folder) {
  QuotaGauge gauge;
  gauge.referenced_ = COVE_TRY(sys::open(folder + "/referenced", O_RDONLY));
  gauge.promised_ = COVE_TRY(sys::open(folder + "/rsv_data", O_RDONLY));
  return gauge;
}

Result<uint64_t> QuotaGauge::read() const {
  uint64_t used = 0;
  for (const UniqueFd* part : {&referenced_, &promised_}) {
    char text[32];
    ssize_t size = ::pread(part->get(), text, sizeof text, 0);
    if (size < 0) return fail_errno("read a quota group");
    uint64_t number = 0;
    std::from_chars(text, text + size, number);
    used += number;
  }
  return used;
}

void remove_stale_quota_groups(int file_system, const std::string& uuid) {
  for (const std::string& name : list_folder(groups_folder(uuid)).value_or(std::vector<std::string>())) {
    if (!name.starts_with("0_")) continue;
    Result<int64_t> id = parse_integer(name.substr(2), BTRFS_FIRST_FREE_OBJECTID, INT64_MAX);
    if (!id || subvolume_exists(file_system, static_cast<uint64_t>(*id))) continue;
    struct btrfs_ioctl_qgroup_create_args args = {};
    args.qgroupid = static_cast<uint64_t>(*id);
    // Busy while its subvolume is still being freed; a later call removes it.
    static_cast<void>(::ioctl(file_system, BTRFS_IOC_QGROUP_CREATE, &args));
  }
}

}  // namespace cove::sys::btrfs
