#include "init/fences.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "seccomp_filter.h"

namespace cove::init {
namespace {

constexpr uint64_t bit(int capability) { return uint64_t{1} << capability; }

// All file rights of ABI 1; moving between folders, truncating and device ioctls come with ABI 2, 3 and 5.
constexpr uint64_t kRights = (1ull << 13) - 1;
constexpr uint64_t kRefer = 1ull << 13;
constexpr uint64_t kTruncate = 1ull << 14;
constexpr uint64_t kDeviceNodes = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
constexpr uint64_t kScopes = 3;  // abstract sockets, signals

// As <linux/landlock.h> of a kernel with ABI 6 has it.
struct Ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

// Older kernels accept only a shorter structure.
size_t ruleset_size(int abi) {
  if (abi >= 6) return sizeof(Ruleset);
  return abi >= 4 ? offsetof(Ruleset, scoped) : offsetof(Ruleset, handled_access_net);
}

int allow_below_root(int ruleset, uint64_t rights) {
  int root = ::open("/", O_PATH | O_CLOEXEC);
  if (root < 0) return -1;
  landlock_path_beneath_attr rule = {rights, root};
  long status = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(root);
  return static_cast<int>(status);
}

template <size_t kSize>
int load(const sock_filter (&instructions)[kSize]) {
  sock_fprog program = {kSize, const_cast<sock_filter*>(instructions)};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace

uint64_t root_capabilities() {
  return bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_FSETID) | bit(CAP_KILL) | bit(CAP_SETGID) |
         bit(CAP_SETUID) | bit(CAP_SETPCAP) | bit(CAP_NET_BIND_SERVICE) | bit(CAP_SYS_CHROOT) | bit(CAP_SETFCAP);
}

int limit_bounding_set(uint64_t kept, uint64_t present) {
  for (int capability = 0; capability < 64; ++capability) {
    if (kept & bit(capability) || !(present & bit(capability))) continue;
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
  return nesting == Nesting::Allowed ? load(seccomp::kNestingFilter) : load(seccomp::kFilter);
}

int apply_filters(const Filters& filters) {
  if (no_new_privileges() < 0) return -1;
  if (filters.set_id == SetId::Forbidden && load(seccomp::kSetIdFilter) < 0) return -1;
  if (filters.cpus == CpusHeld::ByAffinity && load(seccomp::kPinnedFilter) < 0) return -1;
  if (filters.memory == MemoryHeld::ByWatcher && load(seccomp::kWatchedFilter) < 0) return -1;
  return apply_seccomp(filters.nesting);
}

int apply_host_filter() { return load(seccomp::kHostFilter); }

uint64_t unpack_capabilities() {
  return bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_FSETID) | bit(CAP_SETFCAP);
}

int apply_unpack_filter() { return load(seccomp::kUnpackFilter); }

int apply_gateway_filter() { return load(seccomp::kGatewayFilter); }

int landlock_abi() {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

int apply_landlock() {
  int abi = landlock_abi();
  if (abi == 0) return 0;
  Ruleset rules = {};
  rules.handled_access_fs = kRights | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0);
  if (abi >= 6) rules.scoped = kScopes;
  int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, ruleset_size(abi), 0));
  if (ruleset < 0) return -1;
  int status = allow_below_root(ruleset, rules.handled_access_fs & ~kDeviceNodes);
  if (status == 0) status = static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset, 0));
  ::close(ruleset);
  return status;
}

}  // namespace cove::init
