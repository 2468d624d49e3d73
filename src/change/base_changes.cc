#include <algorithm>
#include <set>

#include "base/text.h"
#include "change/base_record.h"
#include "change/content.h"
#include "change/tree_scan.h"

namespace cove::change {
namespace {

// The granularity of file system clocks. A file modified this shortly before the record may have been modified again
// afterwards without a change of its stamp.
constexpr int64_t kTick = 2'000'000'000;

// Paths that are not covered, with everything below them.
class Shadow {
 public:
  explicit Shadow(const std::vector<Uncovered>& uncovered) {
    for (const Uncovered& entry : uncovered)
      if (entry.gap != Gap::Repository) paths_.insert(entry.path);
  }
  bool covers(const std::string& path) const {
    if (paths_.empty()) return false;
    for (size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1))
      if (paths_.contains(path.substr(0, end))) return true;
    return false;
  }
  const std::set<std::string>& paths() const { return paths_; }

 private:
  std::set<std::string> paths_;
};

class Comparison {
 public:
  Comparison(const BaseRecord& record, int top, const BaseLimits& limits)
      : record_(record), top_(top), limits_(limits), read_left_(limits.read_bytes) {}

  Result<std::vector<PathChange>> run() {
    EntryStat found = COVE_TRY(stat_entry(top_, ""));
    if (found.device != record_.device || found.stamp.inode != record_.inode)
      return fail(Code::Conflict, "it is not the recorded folder");
    Tree tree = COVE_TRY(scan_tree(top_, limits_.entries));
    Shadow now(tree.uncovered);
    for (const std::string& path : now.paths()) tell(path, What::Unknown);
    COVE_TRY(walk_both(tree, now, Shadow(record_.uncovered)));
    std::ranges::sort(changes_, {}, &PathChange::path);
    return std::move(changes_);
  }

 private:
  // Both lists are sorted by path.
  Result<void> walk_both(const Tree& tree, const Shadow& now, const Shadow& then) {
    auto old = record_.entries.begin();
    for (const Found& found : tree.entries) {
      for (; old != record_.entries.end() && old->path < found.path; ++old) tell_gone(*old, now);
      bool known = old != record_.entries.end() && old->path == found.path;
      const BaseEntry* before = known ? &*old++ : nullptr;
      if (now.covers(found.path)) continue;  // reported already
      if (before != nullptr)
        COVE_TRY(compare(*before, found));
      else
        tell(found.path, then.covers(found.path) ? What::Unknown : What::Added);
    }
    for (; old != record_.entries.end(); ++old) tell_gone(*old, now);
    return {};
  }

  void tell(const std::string& path, What what) { changes_.push_back({path, what}); }

  void tell_gone(const BaseEntry& old, const Shadow& now) {
    if (!now.covers(old.path)) tell(old.path, What::Deleted);
  }

  Result<void> compare(const BaseEntry& old, const Found& found) {
    if (old.kind != found.kind || old.target != found.target) {
      tell(old.path, What::Modified);
      return {};
    }
    if (old.kind == Kind::File && !is_untouched(old, found)) return compare_content(old, found);
    if (old.mode != found.mode && old.kind != Kind::Link) tell(old.path, What::ModeChanged);
    return {};
  }

  bool is_untouched(const BaseEntry& old, const Found& found) const {
    return old.stamp == found.stamp && std::max(old.stamp.modified_ns, old.stamp.changed_ns) < record_.taken_ns - kTick;
  }

  Result<void> compare_content(const BaseEntry& old, const Found& found) {
    if (old.kept != Kept::Stat && old.stamp.size != found.stamp.size) {
      tell(old.path, What::Modified);
      return {};
    }
    if (old.kept == Kept::Stat || found.stamp.size > read_left_) {
      tell(old.path, What::Unknown);
      return {};
    }
    read_left_ -= found.stamp.size;
    ReadOrder order;
    if (old.kept == Kept::Blob) order.blob = COVE_TRY(hash_of(old));
    Result<ReadFile> read = read_steadily(top_, old.path, order, limits_.after_reading);
    if (!read)
      tell(old.path, read.error().code() == Code::NotFound ? What::Deleted : What::Unknown);
    else if ((order.blob ? read->blob : read->sha256) != old.id)
      tell(old.path, What::Modified);
    else if (read->mode != old.mode)
      tell(old.path, What::ModeChanged);
    return {};
  }

  Result<HashKind> hash_of(const BaseEntry& old) const {
    if (old.repository >= record_.repositories.size())
      return fail(Code::Invalid, concat(old.path, " is of a repository that is not recorded"));
    return record_.repositories[old.repository].hash;
  }

  const BaseRecord& record_;
  int top_;
  const BaseLimits& limits_;
  uint64_t read_left_;
  std::vector<PathChange> changes_;
};

}  // namespace

Result<std::vector<PathChange>> changed_since(const BaseRecord& record, int folder, const BaseLimits& limits) {
  return Comparison(record, folder, limits).run();
}

}  // namespace cove::change
