#include "image/host_cache.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr time_t kKeepUnseen = 7 * 24 * 60 * 60;
constexpr size_t kMostAtOnce = 8;

constexpr size_t kShortestName = 16;

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

// The names of images in the mounts of this machine's processes. A sandbox outlives the process that created it and
// holds no descriptor of the image, but its /dev is a mount of the image, which mountinfo shows.
std::set<std::string> mounted_names() {
  std::set<std::string> names;
  for (const std::string& process : sys::list_folder("/proc").value_or(std::vector<std::string>{})) {
    if (!is_number(process)) continue;
    std::string mounts = sys::read_file(concat("/proc/", process, "/mountinfo")).value_or(std::string());
    for (std::string& name : split(mounts, '/'))
      if (name.size() >= kShortestName) names.insert(std::move(name));
  }
  return names;
}

// If /proc hides the processes of other users, it also hides those of our own sandboxes.
bool sees_all_processes() { return sys::read_file("/proc/1/mountinfo").has_value(); }

// The images that no sandbox uses, most recently used first.
std::vector<std::string> unused_images(const std::string& host, const std::string& current) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::set<std::string> mounted = mounted_names();
  const bool sees_all = sees_all_processes();
  for (const std::string& name : sys::list_folder(host).value_or(std::vector<std::string>{})) {
    auto info = sys::lstat(concat(host, "/", name));
    if (!info || !S_ISDIR(info->st_mode) || name == current || mounted.contains(name)) continue;
    if (!sees_all && ::time(nullptr) - info->st_mtime < kKeepUnseen) continue;
    found.emplace_back(info->st_mtim.tv_sec * 1'000'000'000 + info->st_mtim.tv_nsec, name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (auto& [used, name] : found) names.push_back(std::move(name));
  return names;
}

// Unless it is held. First renamed atomically, while it cannot be taken into use.
bool remove_image(const std::string& host, const std::string& name) {
  auto image = sys::open(concat(host, "/", name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!image || ::flock(image->get(), LOCK_EX | LOCK_NB) < 0) return false;
  std::string helper = concat(host, "/", kHalfMade, name);
  if (!sys::rename(concat(host, "/", name), helper)) return false;
  image->reset();
  return sys::remove_tree(helper).has_value();
}

}  // namespace

void prune_host_images(const std::string& host, const std::string& current) {
  for (const std::string& name : sys::list_folder(host).value_or(std::vector<std::string>{}))
    if (name.starts_with(kHalfMade)) static_cast<void>(sys::remove_tree(concat(host, "/", name)));
  std::vector<std::string> unused = unused_images(host, current);
  size_t removed = 0;
  for (size_t i = kSpareHostImages; i < unused.size() && removed < kMostAtOnce; ++i)
    if (remove_image(host, unused[i])) ++removed;
}

Result<UniqueFd> hold_host_image(const std::string& image) {
  UniqueFd held = COVE_TRY(sys::open(image, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  while (::flock(held.get(), LOCK_SH) < 0)
    if (errno != EINTR) return fail_errno(concat("flock ", image));
  struct stat ours = COVE_TRY(sys::fstat(held.get()));
  struct stat named = COVE_TRY(sys::lstat(image));
  if (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)
    return fail(Code::NotFound, concat("the image ", image, " was just removed"));
  return held;
}

}  // namespace cove
