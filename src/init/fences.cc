#include "init/fences.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "seccomp_filter.h"

namespace cove::init {
namespace {

constexpr uint64_t bit(int capability) { return uint64_t{1} << capability; }

constexpr uint64_t kReadRights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kFileRights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                 LANDLOCK_ACCESS_FS_WRITE_FILE | (1ull << 14) /* truncate */;
// All that ABI 1 knows but the making of device nodes; moving between folders and truncating come with ABI 2 and 3.
constexpr uint64_t kWriteRights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kDeviceRights = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
constexpr uint64_t kRefer = 1ull << 13;
constexpr uint64_t kTruncate = 1ull << 14;

uint64_t handled_rights(long abi) {
  uint64_t rights = kReadRights | kWriteRights | kDeviceRights;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  return rights;
}

int allow_below(int ruleset, const char* path, uint64_t rights) {
  int folder = ::open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return errno == ENOENT ? 0 : -1;
  struct stat info;
  if (::fstat(folder, &info) == 0 && !S_ISDIR(info.st_mode)) rights &= kFileRights;
  landlock_path_beneath_attr rule = {rights, folder};
  long status = S_ISLNK(info.st_mode)
                    ? 0
                    : ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(folder);
  return static_cast<int>(status);
}

}  // namespace

uint64_t root_capabilities() {
  return bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_FSETID) | bit(CAP_KILL) | bit(CAP_SETGID) |
         bit(CAP_SETUID) | bit(CAP_SETPCAP) | bit(CAP_NET_BIND_SERVICE) | bit(CAP_SYS_CHROOT) | bit(CAP_SETFCAP);
}

int limit_bounding_set(uint64_t kept) {
  for (int capability = 0; capability < 64; ++capability) {
    if (kept & bit(capability)) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) return errno == EINVAL ? 0 : -1;  // past the last one
  }
  return 0;
}

int set_capabilities(uint64_t kept) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int half = 0; half < 2; ++half)
    data[half].effective = data[half].permitted = static_cast<uint32_t>(kept >> (32 * half));
  return static_cast<int>(::syscall(SYS_capset, &header, data));
}

int no_new_privileges() { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int apply_seccomp(Nesting nesting) {
  sock_fprog program = {sizeof seccomp::kFilter / sizeof(sock_filter), const_cast<sock_filter*>(seccomp::kFilter)};
  if (nesting == Nesting::Allowed)
    program = {sizeof seccomp::kNestingFilter / sizeof(sock_filter), const_cast<sock_filter*>(seccomp::kNestingFilter)};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

int apply_landlock() {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 0) return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1;
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = handled_rights(abi);
  // Later ABIs have a longer structure; only its first field is used here.
  int ruleset = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (ruleset < 0) return -1;
  const uint64_t all = attributes.handled_access_fs & ~kDeviceRights;
  int status = allow_below(ruleset, "/", kReadRights | (all & kRefer));
  static constexpr const char* kWritable[] = {"/bin",  "/etc", "/home", "/lib",       "/lib32",    "/lib64", "/libx32",
                                              "/media", "/mnt", "/opt",  "/root",      "/run",      "/sbin",  "/srv",
                                              "/tmp",  "/usr", "/var",  "/workspace", "/dev/pts", "/dev/shm"};
  for (const char* path : kWritable) status |= allow_below(ruleset, path, all);
  static constexpr const char* kWritableFiles[] = {"/dev/null",   "/dev/zero",    "/dev/full", "/dev/random",
                                                   "/dev/urandom", "/dev/tty", "/proc"};
  for (const char* path : kWritableFiles) status |= allow_below(ruleset, path, kFileRights & all);
  if (status == 0) status = static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset, 0));
  ::close(ruleset);
  return status < 0 ? -1 : 0;
}

}  // namespace cove::init
