#include "store/folder_lock.h"

#include <sys/file.h>

#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr size_t kMaxNote = 32;

std::string holder(int fd) {
  std::string note(trim(sys::read_all(fd, kMaxNote).value_or("")));
  return parse_integer(note, 1, INT32_MAX) ? concat(" (pid ", note, ")") : "";
}

}  // namespace

Result<UniqueFd> lock_folder(const std::string& folder) {
  std::string path = folder + "/lock";
  UniqueFd fd = COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno == EWOULDBLOCK)
      return fail(Error(Code::Exists, concat("another server", holder(fd.get()), " has the state folder ", folder))
                      .hint("stop that one, or name another state folder"));
    if (errno != EINTR) return fail_errno(concat("flock ", path));
  }
  if (::ftruncate(fd.get(), 0) < 0) return fail_errno(concat("ftruncate ", path));
  COVE_TRY(sys::write_all(fd.get(), concat(::getpid(), "\n")));
  return fd;
}

}  // namespace cove
