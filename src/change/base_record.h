#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "change/digest.h"

// The state of a folder when a session started to work on it, from which later changes can be determined. Its format on
// disk is described in docs/formats/review-base.md.
//
// The folders belong to users and are untrusted: they are walked by descriptor, never through a link and never into
// another mount, and git is not executed, because its configuration can name programs. All functions must be called
// with the rights of the folder's user.
namespace cove::change {

enum class Kind { File, Folder, Link, Other };

// How a file's content is recorded.
enum class Kept {
  Blob,  // it is a blob of the repository's, with this id
  Copy,  // a copy is kept; the id is the SHA-256 of the content
  Hash,  // the id is the SHA-256 of the content
  Stat,  // nothing: only the stamp
};

// Shows, without reading a file, whether it was modified.
struct Stamp {
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
};

struct BaseEntry {
  std::string path;  // below the folder; bytes, as the kernel has them
  Kind kind = Kind::File;
  uint32_t mode = 0;  // permissions, set-id and sticky bits
  Stamp stamp;
  Kept kept = Kept::Stat;  // of files
  std::string id;          // hex
  std::string target;      // of links
  size_t repository = 0;   // of blobs: index into the record's repositories
};

struct Repository {
  std::string folder;      // "" for the recorded folder itself
  std::string git_folder;  // contains its objects, below the recorded folder; "" if they cannot be used
  HashKind hash = HashKind::Sha1;
};

// Why a path is not, or not completely, covered by the record.
enum class Gap {
  Mount,       // another file system is mounted there; nothing of it is recorded
  Unreadable,  // not readable for this user
  Changing,    // it changed each time that it was read
  TooDeep,     // its path is longer than the kernel allows
  Repository,  // git's own files cannot be used: they are outside the folder or have an unknown format
};

struct Uncovered {
  std::string path;
  Gap gap = Gap::Mount;
};

struct BaseRecord {
  uint64_t device = 0;  // of the folder itself, to detect a replacement
  uint64_t inode = 0;
  int64_t taken_ns = 0;  // since 1970
  std::vector<Repository> repositories;
  std::vector<BaseEntry> entries;  // by path, without the folder itself and without anything named .git
  std::vector<Uncovered> uncovered;
  std::map<std::string, std::string> copies;  // by id; only until it is saved
};

struct BaseLimits {
  uint64_t copy_bytes = 1 << 20;  // of one copy
  uint64_t all_copies_bytes = 64 << 20;
  size_t copies = 10'000;
  uint64_t read_bytes = uint64_t{4} << 30;  // in total; further files are recorded only by their stamp
  size_t entries = 500'000;                 // more is Exhausted
  // For tests: called when a file has been read and is about to be checked again.
  std::function<void(const std::string& path)> after_reading;
};

// Clean files of git repositories are recorded as blobs, mostly without being read; changed and untracked ones as
// copies while there is room, then as hashes; ignored ones as hashes.
Result<BaseRecord> record_base(int folder, const BaseLimits& limits = {});

enum class What { Added, Modified, Deleted, ModeChanged, Unknown };

struct PathChange {
  std::string path;
  What what = What::Unknown;
  bool operator==(const PathChange&) const = default;
};

// The current differences, by path. Conflict if it is not the recorded folder. A move is a deletion and an addition.
// Unknown: the path was or is not covered, or cannot be compared within the limits.
Result<std::vector<PathChange>> changed_since(const BaseRecord& record, int folder, const BaseLimits& limits = {});

// Saves to an empty folder, and loads without the copies. Incomplete or damaged data is detected.
Result<void> save_base(const BaseRecord& record, int into);
Result<BaseRecord> load_base(int from);
// The same between processes with different rights: sends through a pipe, and receives into an empty folder. The input
// is untrusted: Invalid if it is malformed, Exhausted if it is larger than a record within these limits can be.
Result<void> send_base(const BaseRecord& record, int to);
struct BaseHead {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t entries = 0;
  uint64_t uncovered = 0;
};
// `wait` is called before each read; its error is returned.
using Wait = std::function<Result<void>()>;
Result<BaseHead> receive_base(int from, int into, const BaseLimits& limits = {}, const Wait& wait = {});
// The content of a copy, checked against its id.
Result<std::string> read_copy(int from, const std::string& id);

}  // namespace cove::change
