#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "change/digest.h"

// What a folder was like when a session began to work on it: enough to say later what has changed, and from what. Kept
// on disk as docs/formats/review-base.md has it.
//
// Folders are those of users, and may have been prepared: they are walked by descriptor, never through a link and never
// into another mount, and git is not executed, for its configuration can name programs. All functions must have the
// rights of the folder's user.
namespace cove::change {

enum class Kind { File, Folder, Link, Other };

// What is known of a file's content.
enum class Kept {
  Blob,  // it is a blob of the repository's, with this id
  Copy,  // a copy is kept; the id is the SHA-256 of the content
  Hash,  // the id is the SHA-256 of the content
  Stat,  // nothing: only the stamp
};

// What tells, without reading it, that a file was touched.
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
  size_t repository = 0;   // of blobs: which of the record's
};

struct Repository {
  std::string folder;      // "" for the recorded folder itself
  std::string git_folder;  // where its objects are, below the recorded folder; "" where they cannot be used
  HashKind hash = HashKind::Sha1;
};

// What the record says nothing about, or not all.
enum class Gap {
  Mount,       // another file system is mounted there; nothing of it is recorded
  Unreadable,  // not open to this user
  Changing,    // it changed each time that it was read
  TooDeep,     // its path is longer than the kernel takes
  Repository,  // git's own files there cannot be used: they lie outside, or are of an unknown kind
};

struct Uncovered {
  std::string path;
  Gap gap = Gap::Mount;
};

struct BaseRecord {
  uint64_t device = 0;  // of the folder itself: another folder in its place is noticed
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
  uint64_t read_bytes = uint64_t{4} << 30;  // in all; what comes after is known by its stamp only
  size_t entries = 500'000;                 // more is Exhausted
  // For tests: called when a file has been read and is about to be found at again.
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

// What differs now, by path. Conflict where it is another folder than the recorded one. A move is a deletion and an
// addition. Unknown: it was or is not covered, or cannot be compared within the limits.
Result<std::vector<PathChange>> changed_since(const BaseRecord& record, int folder, const BaseLimits& limits = {});

// Into an empty folder, and back, without the copies. Whatever is half written, or damaged, is noticed.
Result<void> save_base(const BaseRecord& record, int into);
Result<BaseRecord> load_base(int from);
// The same to somebody with other rights: through a pipe, and out of it into an empty folder. What comes is not
// trusted: Invalid where it is not of the form, Exhausted where it is more than a record within these limits can be.
Result<void> send_base(const BaseRecord& record, int to);
struct BaseHead {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t entries = 0;
  uint64_t uncovered = 0;
};
// `wait` is called before each read: its error is that of the whole.
using Wait = std::function<Result<void>()>;
Result<BaseHead> receive_base(int from, int into, const BaseLimits& limits = {}, const Wait& wait = {});
// The content of a copy, checked against its id.
Result<std::string> read_copy(int from, const std::string& id);

}  // namespace cove::change
