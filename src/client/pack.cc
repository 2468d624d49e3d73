#include "client/pack.h"

#include <sys/stat.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr int kMaxDepth = 256;

tar::Entry entry_of(const std::string& name, tar::Kind kind, const struct stat& info) {
  uint64_t size = kind == tar::Kind::File ? static_cast<uint64_t>(info.st_size) : 0;
  return {.name = name, .kind = kind, .mode = info.st_mode & 0777, .size = size, .mtime = info.st_mtim.tv_sec};
}

class Packer {
 public:
  Packer(tar::Writer& archive, const LeftOut& left_out) : archive_(archive), left_out_(left_out) {}

  Result<void> add(const std::string& path, const std::string& name, int depth) {
    if (depth > kMaxDepth) return fail(Code::Invalid, concat("copy ", path, ": nested too deeply"));
    struct stat info = COVE_TRY(depth == 0 ? sys::stat(path) : sys::lstat(path));
    if (S_ISREG(info.st_mode)) return add_file(path, name);
    if (S_ISDIR(info.st_mode)) return add_folder(path, name, info, depth);
    if (S_ISLNK(info.st_mode)) return add_link(path, name, info);
    left_out_(path, "it is neither a file nor a folder");
    return {};
  }

 private:
  Result<void> add_file(const std::string& path, const std::string& name) {
    UniqueFd file = COVE_TRY(sys::open(path, O_RDONLY | O_NONBLOCK));
    struct stat info = COVE_TRY(sys::fstat(file.get()));
    tar::Entry entry = entry_of(name, tar::Kind::File, info);
    COVE_TRY(archive_.add(entry));
    uint64_t written = COVE_TRY_NOTE(concat("copy ", path), archive_.write_from(file.get(), entry.size));
    if (written == entry.size) return {};
    return fail(Code::Invalid, concat("copy ", path, ": the file became shorter while it was sent"));
  }

  Result<void> add_folder(const std::string& path, const std::string& name, const struct stat& info, int depth) {
    COVE_TRY(archive_.add(entry_of(name + "/", tar::Kind::Folder, info)));
    for (const std::string& child : COVE_TRY(sys::list_folder(path)))
      COVE_TRY(add(concat(path, "/", child), concat(name, "/", child), depth + 1));
    return {};
  }

  Result<void> add_link(const std::string& path, const std::string& name, const struct stat& info) {
    tar::Entry entry = entry_of(name, tar::Kind::Symlink, info);
    entry.link = COVE_TRY(sys::readlink(path));
    return archive_.add(entry);
  }

  tar::Writer& archive_;
  const LeftOut& left_out_;
};

}  // namespace

Result<tar::Writer> archive_to(BodyWriter& body) {
  return tar::Writer::create([&body](std::string_view data) { return body.write(data); });
}

Result<void> pack(tar::Writer& archive, const std::string& path, const std::string& name, const LeftOut& left_out) {
  return Packer(archive, left_out).add(path, name, 0);
}

}  // namespace cove::client
