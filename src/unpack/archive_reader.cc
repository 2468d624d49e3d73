#include "unpack/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "base/text.h"
#include "unpack/sha256.h"

namespace cove::unpack {
namespace {

using Kind = LayerEntry::Kind;

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMostAttributes = 64;

struct Free {
  void operator()(struct archive* archive) const { ::archive_read_free(archive); }
};
using Archive = std::unique_ptr<struct archive, Free>;

Error broken(struct archive* archive, std::string_view what) {
  const char* why = ::archive_error_string(archive);
  return Error(Code::Invalid, concat(what, ": ", why ? std::string_view(why) : "it is malformed"));
}

// The outer of two readers decompresses, so that the inner one's input can be hashed.
class Decompressor {
 public:
  static Result<std::unique_ptr<Decompressor>> open(int fd) {
    std::unique_ptr<Decompressor> reader(new Decompressor());
    struct archive* outer = reader->outer_.get();
    ::archive_read_support_filter_gzip(outer);
    ::archive_read_support_filter_zstd(outer);
    ::archive_read_support_format_raw(outer);
    ::archive_read_support_format_empty(outer);
    struct archive_entry* entry = nullptr;
    if (::archive_read_open_fd(outer, fd, kPiece) != ARCHIVE_OK) return fail(broken(outer, "read the archive"));
    int status = ::archive_read_next_header(outer, &entry);
    reader->ended_ = status == ARCHIVE_EOF;
    if (status != ARCHIVE_OK && status != ARCHIVE_EOF) return fail(broken(outer, "read the archive"));
    return reader;
  }

  // For libarchive: the next block, 0 at the end, -1 on error.
  static ssize_t next(struct archive* inner, void* self, const void** piece) {
    return static_cast<Decompressor*>(self)->read(inner, piece);
  }

  ssize_t read(struct archive* inner, const void** piece) {
    if (ended_) return 0;
    ssize_t size = ::archive_read_data(outer_.get(), buffer_.data(), buffer_.size());
    if (size < 0) {
      if (inner) ::archive_set_error(inner, EINVAL, "%s", ::archive_error_string(outer_.get()));
      return -1;
    }
    ended_ = size == 0;
    digest_.update({buffer_.data(), static_cast<size_t>(size)});
    *piece = buffer_.data();
    return size;
  }

  bool ended() const { return ended_; }

  // The digest includes data after the end of the tar.
  Result<std::string> finish() {
    const void* piece = nullptr;
    while (true) {
      ssize_t size = read(nullptr, &piece);
      if (size < 0) return fail(broken(outer_.get(), "read the archive"));
      if (size == 0) return concat("sha256:", digest_.hex());
    }
  }

 private:
  Decompressor() : outer_(::archive_read_new()), buffer_(kPiece, '\0') {}

  Archive outer_;
  std::string buffer_;
  Sha256 digest_;
  bool ended_ = false;
};

std::string text(const char* value) { return value ? value : ""; }

std::optional<Kind> kind_of(struct archive_entry* entry) {
  if (::archive_entry_hardlink(entry)) return Kind::HardLink;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return Kind::File;
    case AE_IFDIR:
      return Kind::Folder;
    case AE_IFLNK:
      return Kind::Symlink;
    case AE_IFIFO:
      return Kind::Fifo;
    case AE_IFCHR:
    case AE_IFBLK:
    case AE_IFSOCK:
      return Kind::Device;
    default:
      return std::nullopt;
  }
}

Result<LayerEntry> entry_of(struct archive_entry* entry) {
  LayerEntry out;
  out.name = text(::archive_entry_pathname(entry));
  std::optional<Kind> kind = kind_of(entry);
  if (!kind) return fail(Code::Invalid, concat("the entry '", out.name.substr(0, 300), "' is of an unknown kind"));
  out.kind = *kind;
  out.link = text(out.kind == Kind::HardLink ? ::archive_entry_hardlink(entry) : ::archive_entry_symlink(entry));
  out.mode = ::archive_entry_perm(entry);
  // Negative numbers become larger than every range.
  out.uid = static_cast<uint64_t>(::archive_entry_uid(entry));
  out.gid = static_cast<uint64_t>(::archive_entry_gid(entry));
  if (out.kind == Kind::File) {
    if (::archive_entry_size(entry) < 0)
      return fail(Code::Invalid, concat("the entry '", out.name.substr(0, 300), "' has no size"));
    out.size = static_cast<uint64_t>(::archive_entry_size(entry));
  }
  out.mtime = {::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)};
  if (out.mtime.tv_nsec < 0 || out.mtime.tv_nsec >= 1'000'000'000) out.mtime.tv_nsec = 0;
  ::archive_entry_xattr_reset(entry);
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  while (::archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    if (out.xattrs.size() == kMostAttributes)
      return fail(Code::Invalid, concat("the entry '", out.name.substr(0, 300), "' has too many attributes"));
    out.xattrs.emplace_back(text(name), std::string(static_cast<const char*>(value), size));
  }
  return out;
}

Result<bool> next_piece(struct archive* archive, std::string_view& piece, uint64_t& offset) {
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t at = 0;
  int status = ::archive_read_data_block(archive, &data, &size, &at);
  if (status == ARCHIVE_EOF) return false;
  if (status != ARCHIVE_OK || at < 0) return fail(broken(archive, "read a file of the archive"));
  piece = {static_cast<const char*>(data), size};
  offset = static_cast<uint64_t>(at);
  return true;
}

}  // namespace

Result<LayerReport> unpack_layer(int fd, LayerWriter& writer, std::string& diff_id) {
  std::unique_ptr<Decompressor> source = COVE_TRY(Decompressor::open(fd));
  Archive tar(::archive_read_new());
  ::archive_read_support_format_tar(tar.get());
  ::archive_read_support_format_empty(tar.get());
  // Names are bytes: nothing is converted.
  ::archive_read_set_options(tar.get(), "hdrcharset=BINARY");
  if (::archive_read_open(tar.get(), source.get(), nullptr, Decompressor::next, nullptr) != ARCHIVE_OK)
    return fail(broken(tar.get(), "not a tar archive"));
  struct archive_entry* entry = nullptr;
  while (true) {
    int status = ::archive_read_next_header(tar.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return fail(broken(tar.get(), "read the archive"));
    LayerEntry described = COVE_TRY(entry_of(entry));
    uint64_t taken = 0;
    bool unfinished = false;
    auto data = [&](std::string_view& piece, uint64_t& offset) -> Result<bool> {
      Result<bool> more = next_piece(tar.get(), piece, offset);
      // Some tools omit the padding of the last block and the end marker; the last file is complete anyway.
      unfinished = !more && taken == described.size && source->ended();
      if (unfinished) return false;
      if (more && *more) taken = offset + piece.size();
      return more;
    };
    COVE_TRY(writer.take(described, data));
    if (unfinished) break;
  }
  diff_id = COVE_TRY(source->finish());
  return writer.finish();
}

}  // namespace cove::unpack
