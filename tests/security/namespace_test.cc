// Mounts and namespaces.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kMountExpectations[] = {
    {"find_mount_with_setuid", "held"},
    {"find_writable_dev", "held"},
    {"mount_tmpfs", "EPERM"},
    {"mount_proc", "EPERM"},
    {"mount_sysfs", "EPERM"},
    {"mount_devpts", "EPERM"},
    {"mount_mqueue", "EPERM"},
    {"mount_cgroup_v1", "EPERM"},
    {"mount_cgroup_v2", "EPERM"},
    {"mount_debugfs", "EPERM"},
    {"mount_overlay", "EPERM"},
    {"mount_disk", "EPERM"},
    {"bind_mount", "EPERM"},
    {"share_mounts", "EPERM"},
    {"remount_proc_sys", "EPERM"},
    {"remount_dev", "EPERM"},
    {"unmount_proc_sys", "EPERM"},
    {"unmount_mask", "EPERM"},
    {"unmount_usr", "EPERM"},
    {"unmount_root", "EPERM"},
    {"pivot_root", "EPERM"},
    {"move_mount", "EPERM"},
    {"open_tree", "EPERM"},
    {"fsopen", "EPERM"},
    {"fsconfig", "EPERM"},
    {"fsmount", "EPERM"},
    {"fspick", "EPERM"},
    {"mount_setattr", "EPERM"},
    {"listmount", "EPERM|ENOSYS"},
    {"statmount", "EPERM|ENOSYS"},
    {"double_chroot", "EPERM", "held"},
};

const Theme kMount{"mount", kMountExpectations};
COVE_ATTEMPTS(Mount, kMount);

constexpr Expectation kNamespaceExpectations[] = {
    {"unshare_user", "EPERM"},
    {"unshare_mount", "EPERM"},
    {"unshare_pid", "EPERM"},
    {"unshare_network", "EPERM"},
    {"unshare_ipc", "EPERM"},
    {"unshare_uts", "EPERM"},
    {"unshare_cgroup", "EPERM"},
    {"unshare_time", "EPERM"},
    {"unshare_user_and_mount", "EPERM"},
    {"unshare_user_with_files", "EPERM"},
    {"unshare_user_with_high_bits", "EPERM"},
    {"clone_user", "EPERM"},
    {"clone_mount", "EPERM"},
    {"clone_pid", "EPERM"},
    {"clone_network", "EPERM"},
    {"clone_ipc", "EPERM"},
    {"clone_uts", "EPERM"},
    {"clone_cgroup", "EPERM"},
    {"clone_user_with_high_bits", "EPERM"},
    {"clone3_plain", "ENOSYS"},
    {"clone3_user", "ENOSYS"},
    {"setns_own_user", "EPERM"},
    {"setns_own_mount", "EPERM"},
    {"setns_own_network", "EPERM"},
    {"setns_own_pid", "EPERM"},
    {"setns_user_of_process_1", "EACCES"},
    {"setns_mount_of_process_1", "EACCES"},
    {"setns_pidfd_of_process_1", "EPERM"},
    {"write_uid_map", "EPERM"},
    {"write_gid_map", "EPERM"},
    {"write_time_offsets", "EPERM|EACCES|absent"},
};

const Theme kNamespace{"namespace", kNamespaceExpectations};
COVE_ATTEMPTS(Namespace, kNamespace);

}  // namespace
}  // namespace cove::test
