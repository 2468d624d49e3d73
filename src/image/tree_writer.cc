#include "image/tree_writer.h"

#include <unistd.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

Result<void> set_mode(const std::string& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) < 0) return fail_errno(concat("chmod ", path));
  return {};
}

}  // namespace

Result<void> TreeWriter::folder(const std::string& relative, mode_t mode) const {
  for (size_t end = relative.find('/'); end != std::string::npos; end = relative.find('/', end + 1)) {
    std::string parent = relative.substr(0, end);
    if (!sys::exists(path(parent))) COVE_TRY(folder(parent));
  }
  if (!sys::exists(path(relative))) COVE_TRY(sys::mkdir(path(relative), 0700));
  COVE_TRY(give(relative));
  return set_mode(path(relative), mode);
}

Result<void> TreeWriter::file(const std::string& relative, std::string_view data, mode_t mode) const {
  COVE_TRY(sys::write_file(path(relative), data, 0600));
  COVE_TRY(give(relative));
  return set_mode(path(relative), mode);
}

Result<void> TreeWriter::link(const std::string& relative, const std::string& target) const {
  COVE_TRY(sys::symlink(target, path(relative)));
  return give(relative);
}

Result<void> TreeWriter::give(const std::string& relative) const {
  if (::geteuid() != 0) return {};
  uid_t id = first_id_ + owner_;
  if (::lchown(path(relative).c_str(), id, id) < 0) return fail_errno(concat("chown ", path(relative)));
  return {};
}

}  // namespace cove
