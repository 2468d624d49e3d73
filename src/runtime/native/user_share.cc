#include "runtime/native/user_share.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove::native {
namespace {

constexpr uint64_t kShares = 8;
constexpr uint64_t kLeast = 4;
constexpr const char* kCounts[] = {"inotify_instances", "inotify_watches", "user_namespaces",
                                   "pid_namespaces",    "net_namespaces",  "mnt_namespaces",
                                   "ipc_namespaces",    "uts_namespaces",  "cgroup_namespaces"};

// Applies to a user without a limit.
constexpr rlim_t kMostSignals = 16384;
constexpr rlim_t kMostQueueBytes = 1 << 20;

Result<void> share_rlimit(__rlimit_resource resource, rlim_t most) {
  struct rlimit limit;
  if (::getrlimit(resource, &limit) < 0) return fail_errno("getrlimit");
  limit.rlim_max = std::min(limit.rlim_max / kShares, most);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(resource, &limit) < 0) return fail_errno("setrlimit");
  return {};
}

}  // namespace

UserShare UserShare::measure() {
  UserShare share;
  for (const char* name : kCounts) {
    std::string path = concat("/proc/sys/user/max_", name);
    Result<std::string> text = sys::read_file(path, 32);
    Result<int64_t> most = text ? parse_integer(trim(*text), 0, INT64_MAX) : std::unexpected(text.error());
    if (most) share.counts_.push_back({std::move(path), std::max(static_cast<uint64_t>(*most) / kShares, kLeast)});
  }
  return share;
}

Result<void> UserShare::apply() const {
  for (const Count& count : counts_) {
    Result<void> limited = sys::poke_at(AT_FDCWD, count.path, std::to_string(count.limit));
    if (!limited && limited.error().errnum() != EROFS) return limited;
  }
  COVE_TRY_NOTE("limit pending signals", share_rlimit(RLIMIT_SIGPENDING, kMostSignals));
  return share_rlimit(RLIMIT_MSGQUEUE, kMostQueueBytes);
}

}  // namespace cove::native
