#include <sys/prctl.h>

#include <cerrno>
#include <csignal>

#include "init/fences.h"
#include "net/gateway/gateway.h"
#include "sys/landlock.h"

namespace cove::net {
namespace {

// A kernel without Landlock is acceptable: the filter allows no call that opens a file.
Result<void> forbid_files() {
  auto fence = sys::Landlock::create(sys::Landlock::Tcp::Allowed);
  if (!fence && fence.error().code() == Code::Unsupported) return {};
  if (!fence) return std::unexpected(std::move(fence).error());
  return fence->restrict_self();
}

}  // namespace

Result<void> apply_gateway_fences() {
  std::signal(SIGPIPE, SIG_IGN);
  if (::prctl(PR_SET_DUMPABLE, 0) < 0) return fail_errno("PR_SET_DUMPABLE");
  if (init::limit_bounding_set(0) < 0 && errno != EPERM) return fail_errno("drop the bounding set");
  if (init::set_capabilities(0) < 0) return fail_errno("drop capabilities");
  if (init::no_new_privileges() < 0) return fail_errno("no_new_privs");
  COVE_TRY(forbid_files());
  if (init::apply_gateway_filter() < 0) return fail_errno("apply the seccomp filter");
  return {};
}

}  // namespace cove::net
