#include "tar/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::tar {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kRecord = 512;

// Where the archive has names as UTF-8, and the locale's charset cannot say them all.
const char* either(struct archive_entry* header, const char* (*plain)(struct archive_entry*),
                   const char* (*utf8)(struct archive_entry*)) {
  const char* text = plain(header);
  return text != nullptr ? text : utf8(header);
}

Kind kind_of(mode_t type) {
  if (S_ISREG(type)) return Kind::File;
  if (S_ISDIR(type)) return Kind::Folder;
  return S_ISLNK(type) ? Kind::Symlink : Kind::Other;
}

Entry entry_of(struct archive_entry* header, const char* name) {
  Entry entry;
  entry.name = name;
  entry.kind = kind_of(::archive_entry_filetype(header));
  entry.mode = static_cast<uint32_t>(::archive_entry_perm(header)) & 07777;
  entry.size = static_cast<uint64_t>(std::max<int64_t>(0, ::archive_entry_size(header)));
  entry.mtime = ::archive_entry_mtime(header);
  entry.uid = static_cast<uint64_t>(::archive_entry_uid(header));
  entry.gid = static_cast<uint64_t>(::archive_entry_gid(header));
  const char* link = either(header, ::archive_entry_hardlink, ::archive_entry_hardlink_utf8);
  if (link != nullptr) entry.kind = Kind::HardLink;
  if (entry.kind == Kind::Symlink) link = either(header, ::archive_entry_symlink, ::archive_entry_symlink_utf8);
  if (link != nullptr) entry.link = link;
  return entry;
}

}  // namespace

struct Reader::State {
  explicit State(Source from) : source(std::move(from)), piece(kPiece) {}

  Source source;
  std::vector<char> piece;
  std::optional<Error> error;  // the source's
  size_t zeros = 0;            // at the end of what has come so far
  bool ended = false;
  struct archive* archive = nullptr;
};

void Reader::Free::operator()(State* state) const {
  if (state->archive != nullptr) ::archive_read_free(state->archive);
  delete state;
}

ssize_t Reader::read(struct archive* archive, void* data, const void** buffer) {
  auto* state = static_cast<State*>(data);
  Result<size_t> count = state->source(state->piece);
  if (!count) {
    state->error = count.error();
    ::archive_set_error(archive, EIO, "the archive could not be read");
    return -1;
  }
  auto last = std::find_if(state->piece.rend() - static_cast<ptrdiff_t>(*count), state->piece.rend(),
                           [](char c) { return c != '\0'; });
  const auto zeros = static_cast<size_t>(last - (state->piece.rend() - static_cast<ptrdiff_t>(*count)));
  state->zeros = zeros < *count ? zeros : state->zeros + zeros;
  state->ended = *count == 0;
  *buffer = state->piece.data();
  return static_cast<ssize_t>(*count);
}

Result<Reader> Reader::create(Source source) {
  Reader reader(new State(std::move(source)));
  State& state = *reader.state_;
  state.archive = ::archive_read_new();
  if (state.archive == nullptr) return fail(Code::Exhausted, "no memory for an archive");
  ::archive_read_support_format_tar(state.archive);
  if (::archive_read_open(state.archive, &state, nullptr, read, nullptr) < ARCHIVE_WARN) return fail(reader.broken());
  return reader;
}

Error Reader::broken() const {
  if (state_->error) return *state_->error;
  const char* why = ::archive_error_string(state_->archive);
  return Error(Code::Invalid, concat("this is not a tar archive: ", why ? why : "it is broken"))
      .hint("a plain tar is wanted, not a compressed one");
}

Result<std::optional<Entry>> Reader::next() {
  struct archive_entry* header = nullptr;
  const int status = ::archive_read_next_header(state_->archive, &header);
  if (status == ARCHIVE_EOF) {
    // libarchive takes the end of its input for that of the archive.
    if (state_->ended && state_->zeros < kRecord)
      return fail(Code::Invalid, "the tar archive is not whole: it has no end");
    return std::nullopt;
  }
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return fail(broken());
  const char* name = either(header, ::archive_entry_pathname, ::archive_entry_pathname_utf8);
  if (name == nullptr) return fail(Code::Invalid, "the tar archive has an entry without a name");
  return entry_of(header, name);
}

Result<uint64_t> Reader::copy_to(int fd, const Progress& progress) {
  const void* data = nullptr;
  size_t size = 0;
  int64_t offset = 0;
  uint64_t total = 0;
  int status = ARCHIVE_OK;
  while ((status = ::archive_read_data_block(state_->archive, &data, &size, &offset)) == ARCHIVE_OK) {
    if (static_cast<uint64_t>(offset) > total && ::lseek(fd, offset, SEEK_SET) < 0) return fail_errno("lseek");
    COVE_TRY(sys::write_all(fd, {static_cast<const char*>(data), size}));
    total = static_cast<uint64_t>(offset) + size;
    if (progress) progress(size);
  }
  if (status != ARCHIVE_EOF) return fail(broken());
  return total;
}

}  // namespace cove::tar
