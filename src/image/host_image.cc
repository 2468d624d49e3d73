#include "image/host_image.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "image/fingerprint.h"
#include "image/host_cache.h"
#include "image/skeleton.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

constexpr time_t kDay = 24 * 60 * 60;

// Another user with write access could put files into every sandbox.
Result<struct stat> stat_ours(const std::string& path) { return sys::stat_own_folder(path, sys::kCacheFolder); }

// 0700: the skeleton has world-writable folders (tmp), which are only for users inside.
Result<void> prepare(const std::string& cache, const std::string& host) {
  if (!sys::exists(cache)) COVE_TRY_NOTE("create the cache", sys::make_folders(cache));
  COVE_TRY(stat_ours(cache));
  if (::mkdir(host.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", host));
  COVE_TRY(stat_ours(host));
  if (::chmod(host.c_str(), 0700) < 0) return fail_errno(concat("chmod ", host));
  return {};
}

Result<UniqueFd> lock(const std::string& path) {
  UniqueFd fd = COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  while (::flock(fd.get(), LOCK_EX) < 0)
    if (errno != EINTR) return fail_errno(concat("flock ", path));
  return fd;
}

Result<void> build(const std::string& cache, const HostSource& source, const std::string& name) {
  std::string host = cache + "/host";
  COVE_TRY(prepare(cache, host));
  UniqueFd held = COVE_TRY(lock(host + "/.lock"));
  if (sys::exists(concat(host, "/", name))) return {};  // another process was faster
  prune_host_images(host, name);
  std::string half_made = concat(host, "/", kHalfMade, name);
  COVE_TRY(sys::mkdir(half_made, 0755));
  COVE_TRY(build_host_image(source, half_made));
  return sys::rename(half_made, concat(host, "/", name));
}

// Records which images were used last; once a day is enough.
void touch(const std::string& folder, const struct stat& info) {
  if (::time(nullptr) - info.st_mtime > kDay) static_cast<void>(::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0));
}

Result<ImageRoot> describe(const std::string& folder, const std::string& fingerprint) {
  ImageRoot image;
  image.reference = "host@" + fingerprint;
  image.folder = folder;
  image.dev = folder + "/dev";
  image.dev_nodes = dev_nodes(image.dev);
  image.mounts.push_back({"", {folder + "/root"}, false});
  for (const std::string& name : COVE_TRY(sys::list_folder(folder + "/over")))
    image.mounts.push_back({name, {concat(folder, "/over/", name), "/" + name}, true});
  for (const std::string& name : split(sys::read_file(folder + "/opt").value_or(std::string()), '\n'))
    if (!name.empty()) image.binds.push_back({concat("opt/", name), concat("/opt/", name)});
  return image;
}

}  // namespace

DevNodes dev_nodes(const std::string& dev) {
  struct stat null;
  struct statvfs file_system;
  bool real = ::lstat((dev + "/null").c_str(), &null) == 0 && S_ISCHR(null.st_mode) &&
              ::statvfs(dev.c_str(), &file_system) == 0 && (file_system.f_flag & ST_NODEV) == 0;
  return real ? DevNodes::Real : DevNodes::Placeholders;
}

Result<ImageRoot> host_image(const std::string& cache, const std::string& sudo_program, UniqueFd& hold,
                             unsigned first_id) {
  HostSource source{"", sudo_program, first_id};
  std::string fingerprint = host_fingerprint(source.root, sudo_program);
  if (first_id != 0) fingerprint += concat("-", first_id);
  std::string folder = concat(cache, "/host/", fingerprint);
  if (!sys::lstat(folder)) COVE_TRY_NOTE("build the host image", build(cache, source, fingerprint));
  COVE_TRY(stat_ours(cache));
  COVE_TRY(stat_ours(cache + "/host"));
  Result<UniqueFd> held = hold_host_image(folder);
  // Another process, for which this image is outdated, has removed it.
  if (!held && held.error().code() == Code::NotFound) return host_image(cache, sudo_program, hold, first_id);
  hold = COVE_TRY(std::move(held));
  struct stat info = COVE_TRY(stat_ours(folder));
  touch(folder, info);
  return describe(folder, fingerprint);
}

Result<std::string> cache_folder() { return sys::find_folder(sys::kCacheFolder); }

}  // namespace cove
