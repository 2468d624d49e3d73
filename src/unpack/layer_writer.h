#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::unpack {

// One entry of a layer's archive.
struct LayerEntry {
  enum class Kind { File, Folder, Symlink, HardLink, Fifo, Device };
  std::string name;  // as in the archive
  Kind kind = Kind::File;
  std::string link;  // the target of a symlink, or the name of the entry to which a hard link refers
  mode_t mode = 0644;
  uint64_t uid = 0;
  uint64_t gid = 0;
  uint64_t size = 0;
  struct timespec mtime = {0, 0};
  std::vector<std::pair<std::string, std::string>> xattrs;
};

// The next block of an entry's data and its offset in the file; false at the end. Holes are skipped.
using DataSource = std::function<Result<bool>(std::string_view& piece, uint64_t& offset)>;

struct LayerLimits {
  uint64_t bytes = uint64_t{32} << 30;  // total of all files, including holes
  uint64_t entries = 2'000'000;
};

// How a folder is marked as opaque for overlayfs.
enum class OpaqueMark {
  UserAttribute,  // by user.overlay.opaque, set here
  Reported,       // by a privileged attribute, which the parent sets for the reported paths
};
// Whether files can be given to their owners: not if only a single id is mapped.
enum class Owners { Kept, Ours };

struct LayerOptions {
  LayerLimits limits;
  OpaqueMark opaque = OpaqueMark::UserAttribute;
  Owners owners = Owners::Kept;
  int parents = -1;     // the merged layers below it, or none
  bool lowest = false;  // there are none
};

struct LayerReport {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t devices_left_out = 0;
  uint64_t owners_out_of_range = 0;
  uint64_t attributes_left_out = 0;
  // The layer has hard links to files below it, or folders that inherit owners and modes from below: the output is
  // correct only for the lowest layer; otherwise it must be unpacked again with `parents`.
  bool needs_parents = false;
  std::vector<std::string> opaque_folders;  // with OpaqueMark::Reported
};

// Writes the entries of a layer's archive below a folder, in the form that overlayfs mounts: a removed entry is a
// character device 0/0, and opaque folders are marked. The archive is untrusted: nothing is written outside the folder,
// no device is created, and unknown input is an error.
//
//   LayerWriter writer(root, options);
//   writer.take(entry, data) for each
//   LayerReport report = COVE_TRY(writer.finish());
class LayerWriter {
 public:
  LayerWriter(int root, LayerOptions options) : root_(root), options_(std::move(options)) {}

  Result<void> take(const LayerEntry& entry, const DataSource& data);
  Result<LayerReport> finish();

 private:
  struct Place {
    int folder;  // borrowed; valid until the next call
    std::string name;
    std::string path;
  };

  Result<Place> place_of(const std::string& path);
  Result<int> open_parent(const std::string& folder);
  Result<UniqueFd> make_parents(const std::string& folder);
  Result<UniqueFd> step_into(int folder, const std::string& name, const std::string& path);
  Result<UniqueFd> imply_folder(int folder, const std::string& name, const std::string& path);
  Result<void> clear(const Place& place, LayerEntry::Kind kind);
  Result<void> count(const LayerEntry& entry);

  Result<void> take_folder(const LayerEntry& entry, const std::string& path);
  Result<void> take_file(const LayerEntry& entry, const Place& place, const DataSource& data);
  Result<void> take_hard_link(const LayerEntry& entry, const Place& place);
  Result<void> take_symlink(const LayerEntry& entry, const Place& place);
  Result<void> take_fifo(const LayerEntry& entry, const Place& place);
  Result<void> take_whiteout(const std::string& path);
  Result<void> copy_from_parents(const std::string& path);
  Result<void> copy_other_names(const std::string& path, const struct stat& original);

  Result<void> write_data(int file, const LayerEntry& entry, const DataSource& data);
  Result<void> set_owner(int folder, const std::string& name, const LayerEntry& entry);
  Result<void> set_attributes(int file, const LayerEntry& entry);
  Result<void> mark_opaque(const std::string& path);
  Result<void> remove(const Place& place);

  int root_;
  LayerOptions options_;
  LayerReport report_;
  std::string parent_path_;
  UniqueFd parent_;
  std::map<std::string, struct timespec> folder_times_;  // set last, because adding entries changes them
  std::set<std::string> implied_;                        // folders without an entry so far
  std::set<std::string> opaque_;
};

// An entry's name as a path below the root: "a/b", or "" for the root itself. Invalid if it contains "..".
Result<std::string> inner_path(std::string_view name);

}  // namespace cove::unpack
