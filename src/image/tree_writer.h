#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace cove {

// Writes folders, files and links below a folder of this user, with exactly the given modes, independent of the umask.
// As root they are given to the current owner (0:0 at first); otherwise they belong to this user.
class TreeWriter {
 public:
  // Owners are counted from `first_id`: the host's id of user 0.
  explicit TreeWriter(std::string root, uid_t first_id = 0) : root_(std::move(root)), first_id_(first_id) {}

  // Creates the missing folders of `path`; parents have mode 0755, the last has `mode`, even if it existed before.
  Result<void> folder(const std::string& path, mode_t mode = 0755) const;
  Result<void> file(const std::string& path, std::string_view data, mode_t mode = 0644) const;
  Result<void> link(const std::string& path, const std::string& target) const;

  // From now on entries belong to this user and the group of the same number.
  void set_owner(uid_t owner) { owner_ = owner; }

  std::string path(const std::string& relative) const { return root_ + "/" + relative; }

 private:
  Result<void> give(const std::string& relative) const;

  std::string root_;
  uid_t first_id_;
  uid_t owner_ = 0;
};

}  // namespace cove
