#include "sys/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/text.h"

namespace cove::sys {
namespace {

// As <linux/landlock.h> of a kernel with ABI 6 has it.
struct Ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

constexpr uint64_t bits(int count) { return (uint64_t{1} << count) - 1; }

// The ABI version of each right: moving between folders 2, truncating 3, TCP 4, device ioctls 5, scopes 6.
Ruleset all_rights(long abi) {
  Ruleset rules = {};
  rules.handled_access_fs = bits(abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13);
  if (abi >= 4) rules.handled_access_net = bits(2);
  if (abi >= 6) rules.scoped = bits(2);
  return rules;
}

// Older kernels accept only a shorter structure.
size_t ruleset_size(long abi) {
  if (abi >= 6) return sizeof(Ruleset);
  return abi >= 4 ? offsetof(Ruleset, scoped) : offsetof(Ruleset, handled_access_net);
}

}  // namespace

Result<Landlock> Landlock::create(Tcp tcp) {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1)
    return fail(Error(Code::Unsupported, "this kernel has no Landlock")
                    .hint("boot with lsm=landlock,… or use kernel 5.13 or later"));
  Ruleset rules = all_rights(abi);
  if (tcp == Tcp::Allowed) rules.handled_access_net = 0;
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, ruleset_size(abi), 0)));
  if (!ruleset) return fail_errno("landlock_create_ruleset");
  return Landlock(std::move(ruleset));
}

Result<void> Landlock::allow(int file, uint64_t rights) {
  landlock_path_beneath_attr rule = {rights, file};
  if (::syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
    return fail_errno(concat("landlock_add_rule for /proc/self/fd/", file));
  return {};
}

Result<void> Landlock::restrict_self() {
  if (::syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) < 0) return fail_errno("landlock_restrict_self");
  return {};
}

}  // namespace cove::sys
