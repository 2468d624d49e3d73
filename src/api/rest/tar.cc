#include "api/rest/tar.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::api {
namespace {

constexpr int kBlock = 64 * 1024;
constexpr size_t kPiece = 256 * 1024;

Error no_memory() { return Error(Code::Exhausted, "no memory for an archive"); }

// libarchive's callbacks. The error itself stays in the exchange: the connection is broken then.
ssize_t write_out(struct archive*, void* exchange, const void* data, size_t size) {
  auto written = static_cast<http::Exchange*>(exchange)->write({static_cast<const char*>(data), size});
  return written ? static_cast<ssize_t>(size) : -1;
}

Result<size_t> read_some(int fd, std::span<char> buffer) {
  ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0) return fail_errno("read a file of the sandbox");
  return static_cast<size_t>(count);
}

}  // namespace

Result<TarWriter> TarWriter::create(http::Exchange& exchange) {
  TarWriter writer(::archive_write_new());
  if (!writer.archive_) return fail(no_memory());
  struct archive* archive = writer.archive_.get();
  COVE_TRY(writer.checked(::archive_write_set_format_gnutar(archive), "choose the format"));
  COVE_TRY(writer.checked(::archive_write_set_bytes_per_block(archive, kBlock), "choose the block size"));
  COVE_TRY(writer.checked(::archive_write_set_bytes_in_last_block(archive, 1), "choose the block size"));
  COVE_TRY(writer.checked(::archive_write_open(archive, &exchange, nullptr, write_out, nullptr), "begin"));
  return writer;
}

Result<void> TarWriter::checked(ssize_t status, const char* what) {
  if (status >= ARCHIVE_WARN) return {};
  const char* why = ::archive_error_string(archive_.get());
  return fail(Code::Unavailable, concat("write an archive: ", what, ": ", why ? why : "the caller is gone"));
}

Result<void> TarWriter::add(const FileEntry& entry, const std::string& name, const std::string& target, uint64_t size) {
  std::unique_ptr<struct archive_entry, void (*)(struct archive_entry*)> header(::archive_entry_new(),
                                                                                &::archive_entry_free);
  if (!header) return fail(no_memory());
  ::archive_entry_copy_pathname(header.get(), name.c_str());
  ::archive_entry_set_mode(header.get(), static_cast<mode_t>(entry.mode));
  ::archive_entry_set_uid(header.get(), static_cast<int64_t>(entry.uid));
  ::archive_entry_set_gid(header.get(), static_cast<int64_t>(entry.gid));
  ::archive_entry_set_mtime(header.get(), static_cast<time_t>(entry.mtime_ns / 1'000'000'000), 0);
  ::archive_entry_set_size(header.get(), static_cast<int64_t>(size));
  if (S_ISLNK(entry.mode)) ::archive_entry_copy_symlink(header.get(), target.c_str());
  return checked(::archive_write_header(archive_.get(), header.get()), "an entry");
}

Result<void> TarWriter::add_data(int fd, uint64_t size) {
  std::vector<char> piece(std::min<uint64_t>(size, kPiece));
  while (size > 0) {
    std::span room = std::span(piece).first(std::min<uint64_t>(size, piece.size()));
    size_t count = COVE_TRY(read_some(fd, room));
    if (count == 0) return {};  // finish_entry fills it up
    COVE_TRY(checked(::archive_write_data(archive_.get(), room.data(), count), "data"));
    size -= count;
  }
  return {};
}

Result<void> TarWriter::finish() { return checked(::archive_write_close(archive_.get()), "the end"); }

// --- reading ---------------------------------------------------------------------------------------------------------

struct TarReader::Source {
  http::Exchange& exchange;
  std::vector<char> piece = std::vector<char>(kPiece);
  std::optional<Error> error;
};

void TarReader::FreeSource::operator()(Source* source) const { delete source; }

ssize_t TarReader::read(struct archive* archive, void* data, const void** buffer) {
  auto* source = static_cast<Source*>(data);
  Result<size_t> count = source->exchange.read(source->piece);
  if (!count) {
    source->error = count.error();
    ::archive_set_error(archive, EIO, "the body is not whole");
    return -1;
  }
  *buffer = source->piece.data();
  return static_cast<ssize_t>(*count);
}

Result<TarReader> TarReader::create(http::Exchange& exchange) {
  TarReader reader(std::unique_ptr<Source, FreeSource>(new Source{exchange}), ::archive_read_new());
  if (!reader.archive_) return fail(no_memory());
  struct archive* archive = reader.archive_.get();
  ::archive_read_support_format_tar(archive);
  if (::archive_read_open(archive, reader.source_.get(), nullptr, read, nullptr) < ARCHIVE_WARN)
    return fail(reader.broken());
  return reader;
}

// The body's own trouble, or what libarchive thinks of it.
Error TarReader::broken() {
  if (source_->error) return *source_->error;
  const char* why = ::archive_error_string(archive_.get());
  return Error(Code::Invalid, concat("the body is not a tar archive: ", why ? why : "it is broken"))
      .hint("send a plain tar, not compressed");
}

Result<std::optional<TarReader::Entry>> TarReader::next() {
  struct archive_entry* header = nullptr;
  int status = ::archive_read_next_header(archive_.get(), &header);
  if (status == ARCHIVE_EOF) return std::nullopt;
  if (status < ARCHIVE_WARN) return fail(broken());
  // Names that the archive has as UTF-8 cannot all be said in the locale's charset.
  auto either = [&](auto plain, auto utf8) { return plain(header) ? plain(header) : utf8(header); };
  const char* name = either(::archive_entry_pathname, ::archive_entry_pathname_utf8);
  if (name == nullptr) return fail(Code::Invalid, "the archive has an entry without a name");
  Entry entry;
  entry.name = name;
  entry.mode = static_cast<unsigned>(::archive_entry_perm(header)) & 0777;
  mode_t type = ::archive_entry_filetype(header);
  if (const char* link = either(::archive_entry_hardlink, ::archive_entry_hardlink_utf8)) {
    entry.kind = Entry::Kind::HardLink;
    entry.link = link;
  } else if (S_ISLNK(type)) {
    const char* target = either(::archive_entry_symlink, ::archive_entry_symlink_utf8);
    entry.kind = Entry::Kind::Symlink;
    entry.link = target ? target : "";
  } else if (S_ISREG(type)) {
    entry.kind = Entry::Kind::File;
  } else if (S_ISDIR(type)) {
    entry.kind = Entry::Kind::Folder;
  }
  return entry;
}

Result<uint64_t> TarReader::copy_to(int fd) {
  const void* data = nullptr;
  size_t size = 0;
  int64_t offset = 0;
  uint64_t total = 0;
  int status = ARCHIVE_OK;
  while ((status = ::archive_read_data_block(archive_.get(), &data, &size, &offset)) == ARCHIVE_OK) {
    // Holes of a sparse file stay holes.
    if (static_cast<uint64_t>(offset) > total && ::lseek(fd, offset, SEEK_SET) < 0)
      return fail_errno("seek in a file of the sandbox");
    COVE_TRY(sys::write_all(fd, {static_cast<const char*>(data), size}));
    total = static_cast<uint64_t>(offset) + size;
  }
  if (status != ARCHIVE_EOF) return fail(broken());
  return total;
}

Result<std::string> inner_path(std::string_view name) {
  std::string path;
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(Code::Invalid, concat("the archive's entry '", name, "' leads out of the folder"));
    path += concat(path.empty() ? "" : "/", part);
  }
  return path;
}

}  // namespace cove::api
