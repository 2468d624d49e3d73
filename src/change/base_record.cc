#include "change/base_record.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/text.h"
#include "change/content.h"
#include "change/git_folder.h"
#include "change/git_ignore.h"
#include "change/tree_scan.h"

namespace cove::change {
namespace {

constexpr size_t kMostRules = 1 << 20;  // bytes of one .gitignore
constexpr uint32_t kLink = 0120000, kSubmodule = 0160000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A repository and its ignore rules.
struct Git {
  GitFolder folder;
  IgnoreRules ignore;
};

class Recorder {
 public:
  Recorder(int top, const BaseLimits& limits) : top_(top), limits_(limits), read_left_(limits.read_bytes) {}

  Result<BaseRecord> run() {
    EntryStat found = COVE_TRY(stat_entry(top_, ""));
    if (found.kind != Kind::Folder) return fail(Code::Invalid, "it is not a folder");
    record_.device = found.device;
    record_.inode = found.stamp.inode;
    record_.taken_ns = now_ns();
    Tree tree = COVE_TRY(scan_tree(top_, limits_.entries));
    record_.uncovered = std::move(tree.uncovered);
    open_repositories(tree);
    read_rules(tree);
    record_entries(tree);
    std::ranges::sort(record_.entries, {}, &BaseEntry::path);
    std::ranges::sort(record_.uncovered, {}, &Uncovered::path);
    return std::move(record_);
  }

 private:
  struct Tracked {
    size_t repository;
    const IndexEntry* entry;
  };

  // The ignore rules of an unusable repository still apply.
  void open_repositories(const Tree& tree) {
    for (const std::string& folder : tree.repositories) {
      Result<GitFolder> git = open_git_folder(top_, folder);
      if (!git) {
        record_.uncovered.push_back({join_path(folder, ".git"), Gap::Repository});
        git = GitFolder{.repository = {.folder = folder}};
      }
      repositories_.push_back({std::move(*git), {}});
      repositories_.back().ignore.add_exclude(repositories_.back().folder.exclude);
      by_folder_[folder] = repositories_.size() - 1;
      record_.repositories.push_back(repositories_.back().folder.repository);
    }
    for (size_t i = 0; i < repositories_.size(); ++i) list_tracked(i);
  }

  void list_tracked(size_t repository) {
    const GitFolder& git = repositories_[repository].folder;
    for (const IndexEntry& entry : git.entries)
      if (entry.has_blob && entry.mode != kLink && entry.mode != kSubmodule)
        tracked_[join_path(git.repository.folder, entry.path)] = {repository, &entry};
  }

  // The innermost repository that contains the path; null if there is none.
  Git* repository_of(const std::string& path) {
    for (std::string folder = folder_of(path);; folder = folder_of(folder)) {
      auto found = by_folder_.find(folder);
      if (found != by_folder_.end()) return &repositories_[found->second];
      if (folder.empty()) return nullptr;
    }
  }

  static std::string path_in(const Git& git, const std::string& path) {
    const std::string& folder = git.folder.repository.folder;
    return folder.empty() ? path : path.size() <= folder.size() ? "" : path.substr(folder.size() + 1);
  }

  void read_rules(const Tree& tree) {
    for (const Found& found : tree.entries) {
      std::string_view name = name_of(found.path);
      if (found.kind != Kind::File || (name != ".gitignore" && name != ".gitattributes")) continue;
      Git* git = repository_of(found.path);
      if (git == nullptr) continue;
      std::string content = read_small(top_, found.path, kMostRules);
      if (name == ".gitignore") git->ignore.add(path_in(*git, folder_of(found.path)), content);
      if (name == ".gitattributes" && asks_for_conversion(content)) git->folder.converts = true;
    }
  }

  bool is_ignored(const Found& found) {
    Git* git = repository_of(found.path);
    return git != nullptr && git->ignore.ignores_file(path_in(*git, found.path));
  }

  // The most important files first, while there is room: tracked, then untracked, then ignored.
  void record_entries(const Tree& tree) {
    std::vector<const Found*> untracked, ignored;
    for (const Found& found : tree.entries) {
      auto known = tracked_.find(found.path);
      if (found.kind != Kind::File)
        add(found, Kept::Stat, "");
      else if (known != tracked_.end())
        record_tracked(found, known->second);
      else
        (is_ignored(found) ? ignored : untracked).push_back(&found);
    }
    for (const Found* found : untracked) record_content(*found, has_room(found->stamp.size), nullptr);
    for (const Found* found : ignored) record_content(*found, false, nullptr);
  }

  void record_tracked(const Found& found, const Tracked& tracked) {
    const GitFolder& git = repositories_[tracked.repository].folder;
    if (!git.converts && is_clean(found, *tracked.entry, git.index_modified_ns)) {
      add(found, Kept::Blob, tracked.entry->id);
      record_.entries.back().repository = tracked.repository;
    } else {
      record_content(found, has_room(found.stamp.size), &tracked);
    }
  }

  bool has_room(uint64_t size) const {
    return size <= limits_.copy_bytes && size <= limits_.all_copies_bytes - copied_bytes_ &&
           record_.copies.size() < limits_.copies;
  }

  void record_content(const Found& found, bool copy, const Tracked* tracked) {
    if (found.stamp.size > read_left_) return add(found, Kept::Stat, "");
    read_left_ -= found.stamp.size;
    ReadOrder order;
    order.keep = copy;
    if (tracked != nullptr) order.blob = record_.repositories[tracked->repository].hash;
    Result<ReadFile> read = read_steadily(top_, found.path, order, limits_.after_reading);
    if (!read) return add_unread(found, read.error());
    Found now = found;
    now.mode = read->mode;
    now.stamp = read->stamp;
    if (tracked != nullptr && read->blob == tracked->entry->id) {
      add(now, Kept::Blob, read->blob);
      record_.entries.back().repository = tracked->repository;
    } else if (copy && has_room(read->content.size())) {
      add(now, Kept::Copy, read->sha256);
      if (record_.copies.emplace(read->sha256, std::move(read->content)).second) copied_bytes_ += now.stamp.size;
    } else {
      add(now, Kept::Hash, read->sha256);
    }
  }

  void add(const Found& found, Kept kept, std::string id) {
    record_.entries.push_back({found.path, found.kind, found.mode, found.stamp, kept, std::move(id), found.target, 0});
  }

  void add_unread(const Found& found, const Error& error) {
    if (error.code() == Code::NotFound) return;
    record_.uncovered.push_back({found.path, error.code() == Code::Unavailable ? Gap::Changing : Gap::Unreadable});
    add(found, Kept::Stat, "");
  }

  int top_;
  const BaseLimits& limits_;
  BaseRecord record_;
  std::vector<Git> repositories_;
  std::unordered_map<std::string, size_t> by_folder_;
  std::unordered_map<std::string, Tracked> tracked_;
  uint64_t read_left_;
  uint64_t copied_bytes_ = 0;
};

}  // namespace

Result<BaseRecord> record_base(int folder, const BaseLimits& limits) { return Recorder(folder, limits).run(); }

}  // namespace cove::change
