#include "engine/service/work_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr int kDeepest = 32;

std::string below(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.ends_with('/') ? folder + name : concat(folder, "/", name);
}

bool is_private(const std::string& name) {
  return name.starts_with('.') || name == "__pycache__" || name == "node_modules";
}

// Goes through the files below a folder, in the order of their names.
class Walk {
 public:
  enum class Private { LeftOut, Taken };
  Walk(View& view, Private hidden) : view_(view), hidden_(hidden) {}

  template <typename Take>
  void through(const std::string& folder, const std::string& path, Take take, int depth = 0) {
    Result<std::vector<FileEntry>> entries = view_.list(folder);
    if (!entries) return;  // it is gone, or not for this user
    std::ranges::sort(*entries, {}, &FileEntry::name);
    for (const FileEntry& entry : *entries) {
      if (hidden_ == Private::LeftOut && is_private(entry.name)) continue;
      if (left_ == 0 || depth > kDeepest) {
        whole_ = false;
        return;
      }
      --left_;
      auto mode = static_cast<mode_t>(entry.mode);
      if (S_ISREG(mode)) take(below(path, entry.name), entry);
      if (S_ISDIR(mode)) through(below(folder, entry.name), below(path, entry.name), take, depth + 1);
    }
  }
  bool whole() const { return whole_; }

 private:
  View& view_;
  Private hidden_;
  size_t left_ = kMostEntries;
  bool whole_ = true;
};

Result<std::string> read_start(int fd, uint64_t most) {
  std::string data;
  data.resize(most);
  size_t size = 0;
  while (size < most) {
    ssize_t count = ::pread(fd, data.data() + size, most - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read");
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  data.resize(size);
  return data;
}

class Collection {
 public:
  Collection(View& view, const std::string& folder) : view_(view), folder_(folder) {}

  void leave_out(const std::string& path, const std::string& why) {
    produced_.left_out.push_back({concat("give back ", path), why});
  }

  void add(const std::string& path) {
    if (!seen_.insert(path).second) return;
    if (produced_.files.size() == kMostFiles) {
      ++too_many_;
      return;
    }
    Result<OutputFile> file = give(path);
    if (file)
      produced_.files.push_back(std::move(*file));
    else
      leave_out(path, file.error().message());
  }

  Produced finish() {
    if (too_many_ > 0)
      leave_out(concat(too_many_, too_many_ == 1 ? " more file" : " more files"),
                concat("more than ", kMostFiles, " are not given back"));
    return std::move(produced_);
  }

 private:
  // What stands there may have been swapped for something else since it was found.
  Result<OutputFile> give(const std::string& path) {
    UniqueFd file = COVE_TRY(view_.open(below(folder_, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat info = COVE_TRY(sys::fstat(file.get()));
    if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, "it is not a plain file");
    auto size = static_cast<uint64_t>(info.st_size);
    std::string data = COVE_TRY(read_start(file.get(), std::min({size, kMostOfFile, room_})));
    bool truncated = data.size() < size;
    room_ -= data.size();
    return OutputFile{path, "", size, std::move(data), truncated};
  }

  View& view_;
  const std::string& folder_;
  uint64_t room_ = kMostOfFiles;
  std::set<std::string> seen_;
  size_t too_many_ = 0;
  Produced produced_;
};

// Whether the way to it goes over a link.
bool is_behind_link(View& view, const std::string& folder, const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    Result<FileEntry> entry = view.stat(below(folder, path.substr(0, slash)), Links::Keep);
    if (!entry || S_ISLNK(static_cast<mode_t>(entry->mode))) return true;
  }
  return false;
}

void collect_match(View& view, const std::string& folder, const FileEntry& match, Collection& collection) {
  std::string path = match.name;
  while (path.ends_with('/')) path.pop_back();
  if (is_behind_link(view, folder, path)) return collection.leave_out(path, "it lies behind a link");
  auto mode = static_cast<mode_t>(match.mode);
  if (S_ISREG(mode)) return collection.add(path);
  if (!S_ISDIR(mode))
    return collection.leave_out(path, S_ISLNK(mode) ? "it is a link" : "it is neither a file nor a folder");
  Walk walk(view, Walk::Private::Taken);
  walk.through(below(folder, path), path, [&](const std::string& each, const FileEntry&) { collection.add(each); });
  if (!walk.whole())
    collection.leave_out(concat("all of ", path), concat("it has more than ", kMostEntries,
                                                         " entries, or is deeper than ", kDeepest, " folders"));
}

}  // namespace

Surroundings look_around(View& view, const std::string& folder) {
  Surroundings surroundings;
  Walk walk(view, Walk::Private::LeftOut);
  walk.through(folder, "", [&](const std::string& path, const FileEntry& entry) {
    surroundings.files[path] = {entry.size, entry.mtime_ns};
  });
  surroundings.whole = walk.whole();
  return surroundings;
}

std::vector<std::string> changed_paths(const Surroundings& before, const Surroundings& after) {
  std::vector<std::string> paths;
  for (const auto& [path, mark] : after.files) {
    auto old = before.files.find(path);
    if (old == before.files.end() || old->second != mark) paths.push_back(path);
  }
  return paths;
}

Produced collect_changed(View& view, const std::string& folder, const Surroundings& before) {
  Collection collection(view, folder);
  Surroundings after = look_around(view, folder);
  if (before.whole && after.whole)
    for (const std::string& path : changed_paths(before, after)) collection.add(path);
  else
    collection.leave_out("what has changed", concat("the working folder has more than ", kMostEntries,
                                                    " entries: name files as 'outputs'"));
  return collection.finish();
}

Produced collect_matching(View& view, const std::string& folder, const std::vector<std::string>& patterns) {
  Collection collection(view, folder);
  for (const std::string& pattern : patterns) {
    Result<std::vector<FileEntry>> matches = view.glob(pattern, folder);
    if (!matches) {
      collection.leave_out(pattern, matches.error().message());
      continue;
    }
    if (matches->empty()) collection.leave_out(pattern, "nothing matches it");
    std::ranges::sort(*matches, {}, &FileEntry::name);
    for (const FileEntry& match : *matches) collect_match(view, folder, match, collection);
  }
  return collection.finish();
}

}  // namespace cove::engine
