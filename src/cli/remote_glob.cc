#include "cli/remote_glob.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/sandbox_path.h"

namespace cove::cli {
namespace {

mode_t mode_of(const std::string& type) {
  if (type == "directory") return S_IFDIR | 0755;
  if (type == "symlink") return S_IFLNK | 0777;
  return type == "file" ? S_IFREG | 0644 : S_IFIFO | 0644;
}

unsigned char kind_of(const std::string& type) {
  if (type == "directory") return DT_DIR;
  if (type == "symlink") return DT_LNK;
  return type == "file" ? DT_REG : DT_FIFO;
}

// Implements the functions that glob(3) calls over a sandbox's folders. They take no context argument, so only one glob
// runs at a time.
class RemoteFolders {
 public:
  RemoteFolders(Api& api, const client::Place& folder) : api_(api), folder_(folder) { current = this; }
  ~RemoteFolders() { current = nullptr; }

  glob_t functions() {
    glob_t table = {};
    table.gl_opendir = [](const char* path) -> void* { return current->open(path); };
    table.gl_readdir = [](void* listing) { return static_cast<Listing*>(listing)->next(); };
    table.gl_closedir = [](void* listing) { delete static_cast<Listing*>(listing); };
    table.gl_lstat = [](const char* path, struct stat* info) { return current->look(path, *info); };
    table.gl_stat = [](const char* path, struct stat* info) { return current->look_through(path, *info); };
    return table;
  }
  // The first error other than a missing file.
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Listing {
    std::vector<Json> entries;
    size_t at = 0;
    struct dirent entry = {};

    struct dirent* next() {
      if (at == entries.size()) return nullptr;
      const Json& json = entries[at++];
      std::string name = client::text_of(json, "name");
      entry.d_ino = 1;
      entry.d_type = kind_of(client::text_of(json, "type"));
      size_t size = std::min(name.size(), sizeof entry.d_name - 1);
      std::memcpy(entry.d_name, name.data(), size);
      entry.d_name[size] = '\0';
      return &entry;
    }
  };

  client::Place place_of(std::string path) const {
    if (!path.starts_with('/')) path = below(folder_.path, path);
    return {folder_.sandbox, path, folder_.user};
  }

  int missing(Error error) {
    bool usual = error.code() == Code::NotFound || error.code() == Code::Denied || error.code() == Code::Invalid;
    if (!usual) error_ = std::move(error);
    errno = ENOENT;
    return -1;
  }

  Listing* open(const std::string& path) {
    Result<std::vector<Json>> entries = api_.entries(place_of(path), 1);
    if (!entries) return missing(std::move(entries).error()), nullptr;
    auto listing = std::make_unique<Listing>();
    listing->entries = std::move(*entries);
    return listing.release();
  }

  int look(const std::string& path, struct stat& info) {
    Result<Json> entry = api_.entry(place_of(path));
    if (!entry) return missing(std::move(entry).error());
    info = {};
    info.st_mode = mode_of(client::text_of(*entry, "type"));
    return 0;
  }

  int look_through(const std::string& path, struct stat& info) {
    int status = look(path, info);
    if (status < 0 || !S_ISLNK(info.st_mode)) return status;
    struct stat target = {};
    if (look(below(path, "."), target) == 0) info = target;
    return 0;
  }

  static thread_local RemoteFolders* current;
  Api& api_;
  const client::Place& folder_;
  std::optional<Error> error_;
};

thread_local RemoteFolders* RemoteFolders::current = nullptr;

}  // namespace

Result<std::vector<std::string>> remote_glob(Api& api, const client::Place& folder, const std::string& pattern) {
  RemoteFolders folders(api, folder);
  glob_t found = folders.functions();
  int status = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_BRACE | GLOB_ALTDIRFUNC, nullptr, &found);
  std::vector<std::string> paths;
  if (status == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (folders.error()) return fail(*folders.error());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace cove::cli
