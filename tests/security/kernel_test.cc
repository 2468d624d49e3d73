// Calls of the kernel, and what was given up for good.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kKernelExpectations[] = {
    {"bpf", "EPERM"},
    {"perf_event_open", "EPERM"},
    {"userfaultfd", "EPERM"},
    {"userfaultfd_user_mode", "EPERM"},
    {"io_uring_setup", "EPERM"},
    {"io_uring_enter", "EPERM"},
    {"io_uring_register", "EPERM"},
    {"kexec_load", "EPERM"},
    {"kexec_file_load", "EPERM"},
    {"init_module", "EPERM"},
    {"finit_module", "EPERM"},
    {"delete_module", "EPERM"},
    {"reboot", "EPERM"},
    {"swapon", "EPERM"},
    {"swapoff", "EPERM"},
    {"acct", "EPERM"},
    {"quotactl", "EPERM"},
    {"syslog", "EPERM"},
    {"open_by_handle_at", "EPERM"},
    {"fanotify_init", "EPERM"},
    {"add_key_session", "EPERM"},
    {"add_key_user", "EPERM"},
    {"request_key", "EPERM"},
    {"keyctl_join_session", "EPERM"},
    {"keyctl_read", "EPERM"},
    {"keyctl_get_persistent", "EPERM"},
    {"clock_settime", "EPERM"},
    {"settimeofday", "EPERM"},
    {"adjtimex", "EPERM"},
    {"clock_adjtime", "EPERM"},
    {"sethostname", "EPERM"},
    {"setdomainname", "EPERM"},
    {"vhangup", "EPERM"},
    {"pidfd_getfd", "EPERM"},
    {"move_pages", "EPERM"},
    {"migrate_pages", "EPERM"},
    {"unknown_call", "ENOSYS"},
};

const Theme kKernel{"kernel", kKernelExpectations};
COVE_ATTEMPTS(Kernel, kKernel);

// The ways into the kernel that the filter must not leave open beside the one that it looks at.
constexpr Expectation kAbiExpectations[] = {
#if defined(__x86_64__)
    {"x32_getpid", "ENOSYS"},    {"x32_unshare", "ENOSYS"},   {"x32_keyctl", "ENOSYS"},    {"x32_ptrace", "ENOSYS"},
    {"x32_ioctl", "ENOSYS"},     {"x32_negative", "ENOSYS"},  {"compat_getpid", "ENOSYS"}, {"compat_unshare", "ENOSYS"},
    {"compat_keyctl", "ENOSYS"}, {"compat_ptrace", "ENOSYS"}, {"compat_ioperm", "ENOSYS"}, {"iopl", "EPERM"},
    {"ioperm", "EPERM"},         {"modify_ldt", "EPERM"},
#else
    {"unknown_abi", "ENOSYS"},
#endif
};

const Theme kAbi{"abi", kAbiExpectations};
COVE_ATTEMPTS(Abi, kAbi);

constexpr Expectation kPrivilegeExpectations[] = {
    {"raise_capabilities", "EPERM"},
    {"raise_ambient", "EPERM"},
    {"clear_no_new_privileges", "EINVAL"},
    {"clear_seccomp", "EINVAL"},
    {"overrule_filter", "EPERM"},
    {"set_mm", "EPERM"},
    {"regain_user", "EPERM", "EINVAL", "EINVAL"},
    {"regain_groups", "EPERM", "EINVAL|EPERM"},
    {"raise_nofile", "EPERM"},
    {"raise_limit_of_process_1", "EPERM"},
    {"realtime_priority", "EPERM"},
    {"deadline_priority", "EPERM"},
    {"negative_nice", "EACCES|EPERM"},
    {"realtime_io", "EPERM"},
    {"own_setuid_file", "held"},
    {"roots_setuid_file", "held"},
    {"file_capabilities", "EPERM", "held"},
};

const Theme kPrivilege{"privilege",
                       kPrivilegeExpectations,
                       {},
                       {"sh", "-c", "sudo /tmp/testee-privilege prepare && exec /tmp/testee-privilege all"}};
COVE_ATTEMPTS(Privilege, kPrivilege);

}  // namespace
}  // namespace cove::test
