#include "client/pack.h"

#include <sys/stat.h>

#include "base/text.h"
#include "client/tar.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr int kMaxDepth = 256;

TarEntry entry_of(const std::string& name, TarKind kind, const struct stat& info) {
  uint64_t size = kind == TarKind::File ? static_cast<uint64_t>(info.st_size) : 0;
  return {name, kind, info.st_mode & 0777, size, info.st_mtim.tv_sec, ""};
}

class Packer {
 public:
  Packer(BodyWriter& body, const LeftOut& left_out) : body_(body), left_out_(left_out) {}

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
    TarEntry entry = entry_of(name, TarKind::File, info);
    COVE_TRY(body_.write(encode_tar_header(entry)));
    COVE_TRY_NOTE(concat("copy ", path), body_.write_file(file.get(), entry.size));
    return body_.write(tar_padding(entry.size));
  }

  Result<void> add_folder(const std::string& path, const std::string& name, const struct stat& info, int depth) {
    COVE_TRY(body_.write(encode_tar_header(entry_of(name + "/", TarKind::Folder, info))));
    for (const std::string& child : COVE_TRY(sys::list_folder(path)))
      COVE_TRY(add(concat(path, "/", child), concat(name, "/", child), depth + 1));
    return {};
  }

  Result<void> add_link(const std::string& path, const std::string& name, const struct stat& info) {
    TarEntry entry = entry_of(name, TarKind::Symlink, info);
    entry.target = COVE_TRY(sys::readlink(path));
    return body_.write(encode_tar_header(entry));
  }

  BodyWriter& body_;
  const LeftOut& left_out_;
};

}  // namespace

Result<void> pack(BodyWriter& body, const std::string& path, const std::string& name, const LeftOut& left_out) {
  return Packer(body, left_out).add(path, name, 0);
}

}  // namespace cove::client
