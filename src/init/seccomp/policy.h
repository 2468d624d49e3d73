#pragma once

// The system calls of a sandbox. Allowed by name; forbidden ones answer EPERM; everything else, and clone3, answers
// ENOSYS, so that programs fall back to what they did before the call existed.
namespace cove::seccomp {

inline constexpr const char* kAllowed[] = {
    // processes and threads
    "alarm", "arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "vfork",
    "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "get_thread_area",
    "getcpu", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrlimit", "getrusage", "getsid", "gettid",
    "getitimer", "kill", "map_shadow_stack", "membarrier", "nanosleep", "pause", "pidfd_open", "pidfd_send_signal",
    "prctl", "process_madvise", "process_mrelease", "process_vm_readv", "process_vm_writev", "ptrace",
    "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp",
    "set_robust_list", "set_thread_area", "set_tid_address", "setitimer", "setpgid", "setpriority", "setrlimit",
    "setsid", "sigaltstack", "signalfd", "signalfd4", "tgkill", "time", "times", "tkill", "uname", "wait4", "waitid",
    "kcmp",
    // identity
    "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getuid", "setfsgid", "setfsuid", "setgid",
    "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid", "umask",
    // memory
    "brk", "madvise", "memfd_create", "memfd_secret", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect",
    "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
    "remap_file_pages", "get_mempolicy", "set_mempolicy", "mbind", "set_mempolicy_home_node", "cachestat",
    // files
    "access", "chdir", "chmod", "chown", "chroot", "close", "close_range", "copy_file_range", "creat", "dup", "dup2",
    "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
    "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat",
    "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr", "link", "linkat",
    "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat",
    "mknod", "mknodat", "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64",
    "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr", "removexattrat",
    "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "setxattrat", "splice", "stat", "statfs",
    "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "unlink", "unlinkat",
    "utime", "utimensat", "utimes", "vmsplice", "write", "writev", "name_to_handle_at",
    // waiting
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "epoll_wait_old", "eventfd", "eventfd2", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select",
    "timerfd_create", "timerfd_gettime", "timerfd_settime",
    // time
    "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "timer_create", "timer_delete",
    "timer_getoverrun", "timer_gettime", "timer_settime",
    // sockets (socket and socketpair are filtered by family)
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
    "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    // System V and POSIX ipc, all inside the ipc namespace
    "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget",
    "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
    // asynchronous i/o of the old kind
    "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "ioprio_get", "ioprio_set",
    // fences that programs put up for themselves
    "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
    "getrandom", "sysinfo",
};

// Known calls that no program in a sandbox may make.
inline constexpr const char* kForbidden[] = {
    // the kernel itself
    "acct", "bpf", "create_module", "delete_module", "finit_module", "get_kernel_syms", "init_module",
    "iopl", "ioperm", "kexec_file_load", "kexec_load", "lookup_dcookie", "nfsservctl", "perf_event_open",
    "query_module", "quotactl", "quotactl_fd", "reboot", "swapoff", "swapon", "syslog", "sysfs", "uselib", "ustat",
    "vm86", "vm86old", "vhangup", "_sysctl", "modify_ldt",
    // clocks
    "adjtimex", "clock_adjtime", "clock_settime", "settimeofday", "stime",
    // keys and files by handle
    "add_key", "keyctl", "request_key", "open_by_handle_at", "fanotify_init", "fanotify_mark",
    // attack surface that ordinary programs do without
    "io_uring_enter", "io_uring_register", "io_uring_setup", "userfaultfd", "pidfd_getfd", "migrate_pages",
    "move_pages",
};

// Namespaces and mounts: forbidden, allowed with nesting (they then act in namespaces made inside).
inline constexpr const char* kNesting[] = {
    "mount", "umount", "umount2", "pivot_root", "setns", "unshare", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "sethostname", "setdomainname", "statmount", "listmount",
    "open_tree_attr",
};

}  // namespace cove::seccomp
