#include "machine/reclaim.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sys/file.h"
#include "sys/ids.h"

namespace cove {
namespace {

// Runs in a namespace in which the user is 0 and the user's subordinate ids are the others.
class Reclaimer {
 public:
  Result<void> take(int file, const std::string& path) {
    struct stat info = COVE_TRY(sys::fstat(file));
    // Ids of other users are not mapped, so their files are not changed.
    if (info.st_uid != 0 && ::fchownat(file, "", 0, 0, AT_EMPTY_PATH) == 0) ++count_;
    if (!S_ISDIR(info.st_mode)) return {};
    Result<UniqueFd> folder = sys::openat(file, ".", O_RDONLY | O_DIRECTORY);
    if (!folder && folder.error().errnum() == EACCES) return {};
    if (!folder) return std::unexpected(folder.error());
    for (const std::string& name : COVE_TRY(sys::list_folder(folder->get()))) {
      Result<UniqueFd> entry = sys::openat(folder->get(), name, O_PATH | O_NOFOLLOW);
      if (!entry && entry.error().errnum() == ENOENT) continue;  // it was removed meanwhile
      if (!entry) return fail(std::move(entry.error()).note(concat("reclaim ", path, "/", name)));
      COVE_TRY(take(entry->get(), concat(path, "/", name)));
    }
    return {};
  }
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
};

}  // namespace

Result<uint64_t> reclaim_files(const std::string& folder) {
  if (::geteuid() == 0)
    return fail(Error(Code::Invalid, "root has no subordinate ids").hint(concat("chown -R changes owners for root")));
  UniqueFd top = COVE_TRY(sys::open(folder, O_PATH | O_NOFOLLOW));
  sys::IdPlan ids = COVE_TRY(sys::plan_rootless_ids(0));
  if (ids.single_id) return uint64_t{0};
  // The work is done in a child.
  void* shared = ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return fail_errno("mmap");
  auto* count = static_cast<uint64_t*>(shared);
  Result<void> done = sys::do_as_owner_of(ids, [&] {
    Reclaimer reclaimer;
    Result<void> taken = reclaimer.take(top.get(), folder);
    *count = reclaimer.count();
    return taken;
  });
  uint64_t found = *count;
  ::munmap(shared, sizeof(uint64_t));
  if (!done) return std::unexpected(done.error());
  return found;
}

}  // namespace cove
