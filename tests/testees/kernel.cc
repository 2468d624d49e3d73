// Attempts to use calls of the kernel that no sandbox needs.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/io_uring.h>
#include <linux/kexec.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/quota.h>
#include <linux/reboot.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "testee.h"

namespace {

using namespace testee;

constexpr long kDay = 24 * 60 * 60;

Outcome load_bpf() {
  bpf_attr attributes = {};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return call(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

Outcome open_perf_event() {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  return call(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

Outcome set_up_io_uring() {
  io_uring_params parameters = {};
  return call(::syscall(SYS_io_uring_setup, 4, &parameters));
}

Outcome set_clock(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  time.tv_sec += kDay;
  return call(::syscall(SYS_clock_settime, clock, &time));
}

Outcome set_time_of_day() {
  timeval time = {kDay, 0};
  return call(::syscall(SYS_settimeofday, &time, nullptr));
}

Outcome adjust_clock() {
  timex request = {};
  request.modes = ADJ_TICK;
  request.tick = 10'001;
  return call(::syscall(SYS_adjtimex, &request));
}

Outcome adjust_clock_by_id() {
  timex request = {};
  request.modes = ADJ_SETOFFSET;
  request.time.tv_sec = kDay;
  return call(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &request));
}

struct Handle {
  unsigned bytes = 64;
  int type = 0;
  unsigned char data[64] = {};
};

// A handle of one's own file would be harmless; the root's inode, 2 on many file systems, is what attackers guess.
Outcome open_by_handle() {
  Handle handle;
  handle.bytes = 8;
  handle.type = 1;
  handle.data[0] = 2;
  int mount = ::open("/etc", O_RDONLY);
  return call(::syscall(SYS_open_by_handle_at, mount, &handle, O_RDONLY));
}

Outcome load_kexec() { return call(::syscall(SYS_kexec_load, 0, 0, nullptr, KEXEC_ARCH_DEFAULT)); }

Outcome load_kexec_file() {
  int image = ::open("/proc/self/exe", O_RDONLY);
  return call(::syscall(SYS_kexec_file_load, image, image, 2, "x", 0));
}

Outcome load_module() {
  static const char kImage[64] =
      "\x7f"
      "ELF";
  return call(::syscall(SYS_init_module, kImage, sizeof kImage, ""));
}

Outcome load_module_file() { return call(::syscall(SYS_finit_module, ::open("/proc/self/exe", O_RDONLY), "", 0)); }

Outcome read_kernel_log() {
  char text[256];
  constexpr int kReadAll = 3;
  return call(::syscall(SYS_syslog, kReadAll, text, sizeof text));
}

Outcome swap_on() {
  int fd = ::open("/tmp/swap", O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ::ftruncate(fd, 1 << 20) < 0) return denied();
  return call(::syscall(SYS_swapon, "/tmp/swap", 0));
}

Outcome add_key(int ring) { return call(::syscall(SYS_add_key, "user", kMark, "x", 1, ring)); }

constexpr Attempt kAttempts[] = {
    {"bpf", load_bpf},
    {"perf_event_open", open_perf_event},
    {"userfaultfd", [] { return call(::syscall(SYS_userfaultfd, O_CLOEXEC)); }},
    {"userfaultfd_user_mode", [] { return call(::syscall(SYS_userfaultfd, O_CLOEXEC | 1)); }},
    {"io_uring_setup", set_up_io_uring},
    {"io_uring_enter", [] { return call(::syscall(SYS_io_uring_enter, 0, 1, 0, 0, nullptr, 0)); }},
    {"io_uring_register", [] { return call(::syscall(SYS_io_uring_register, 0, 1, nullptr, 0)); }},
    {"kexec_load", load_kexec},
    {"kexec_file_load", load_kexec_file},
    {"init_module", load_module},
    {"finit_module", load_module_file},
    {"delete_module", [] { return call(::syscall(SYS_delete_module, "cove_testee", O_NONBLOCK)); }},
    {"reboot",
     [] { return call(::syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF, 0)); }},
    {"swapon", swap_on},
    {"swapoff", [] { return call(::syscall(SYS_swapoff, "/tmp/swap")); }},
    {"acct", [] { return call(::syscall(SYS_acct, nullptr)); }},
    {"quotactl", [] { return call(::syscall(SYS_quotactl, QCMD(Q_SYNC, 0), nullptr, 0, nullptr)); }},
    {"syslog", read_kernel_log},
    {"open_by_handle_at", open_by_handle},
    {"fanotify_init",
     [] { return call(::syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_FID, O_RDONLY)); }},
    {"add_key_session", [] { return add_key(KEY_SPEC_SESSION_KEYRING); }},
    {"add_key_user", [] { return add_key(KEY_SPEC_USER_KEYRING); }},
    {"request_key", [] { return call(::syscall(SYS_request_key, "user", kMark, nullptr, 0)); }},
    {"keyctl_join_session", [] { return call(::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr)); }},
    {"keyctl_read", [] { return call(::syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, nullptr, 0)); }},
    {"keyctl_get_persistent",
     [] { return call(::syscall(SYS_keyctl, KEYCTL_GET_PERSISTENT, 0, KEY_SPEC_PROCESS_KEYRING)); }},
    {"clock_settime", [] { return set_clock(CLOCK_REALTIME); }},
    {"settimeofday", set_time_of_day},
    {"adjtimex", adjust_clock},
    {"clock_adjtime", adjust_clock_by_id},
    {"sethostname", [] { return call(::syscall(SYS_sethostname, kMark, 11)); }},
    {"setdomainname", [] { return call(::syscall(SYS_setdomainname, kMark, 11)); }},
    {"vhangup", [] { return call(::syscall(SYS_vhangup)); }},
    {"pidfd_getfd", [] { return call(::syscall(SYS_pidfd_getfd, ::syscall(SYS_pidfd_open, 1, 0), 3, 0)); }},
    {"move_pages", [] { return call(::syscall(SYS_move_pages, 1, 0, nullptr, nullptr, nullptr, 0)); }},
    {"migrate_pages", [] { return call(::syscall(SYS_migrate_pages, 1, 0, nullptr, nullptr)); }},
    {"unknown_call", [] { return call(::syscall(4000)); }},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
