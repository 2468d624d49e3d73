#include "tar/writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/text.h"

namespace cove::tar {
namespace {

constexpr int kBlock = 64 * 1024;
constexpr size_t kPiece = 256 * 1024;

mode_t type_of(Kind kind) {
  if (kind == Kind::Folder) return S_IFDIR;
  return kind == Kind::Symlink ? S_IFLNK : S_IFREG;
}

}  // namespace

struct Writer::State {
  Sink sink;
  std::optional<Error> error;  // the sink's
  struct archive* archive = nullptr;
};

// Without archive_write_fail the rest of the entry and the end would be written.
void Writer::Free::operator()(State* state) const {
  if (state->archive != nullptr) {
    ::archive_write_fail(state->archive);
    ::archive_write_free(state->archive);
  }
  delete state;
}

ssize_t Writer::write_out(struct archive* archive, void* data, const void* bytes, size_t size) {
  auto* state = static_cast<State*>(data);
  Result<void> written = state->sink({static_cast<const char*>(bytes), size});
  if (written) return static_cast<ssize_t>(size);
  state->error = written.error();
  ::archive_set_error(archive, EIO, "%s", written.error().what().c_str());
  return -1;
}

Result<Writer> Writer::create(Sink sink) {
  Writer writer(new State{.sink = std::move(sink), .error = {}});
  State& state = *writer.state_;
  state.archive = ::archive_write_new();
  if (state.archive == nullptr) return fail(Code::Exhausted, "no memory for an archive");
  COVE_TRY(writer.checked(::archive_write_set_format_gnutar(state.archive)));
  COVE_TRY(writer.checked(::archive_write_set_bytes_per_block(state.archive, kBlock)));
  COVE_TRY(writer.checked(::archive_write_set_bytes_in_last_block(state.archive, 1)));
  COVE_TRY(writer.checked(::archive_write_open(state.archive, &state, nullptr, write_out, nullptr)));
  return writer;
}

Result<void> Writer::checked(ssize_t status) {
  if (status >= ARCHIVE_WARN && !state_->error) return {};
  if (state_->error) return fail(*state_->error);
  const char* why = ::archive_error_string(state_->archive);
  return fail(Code::Internal, concat("write a tar archive: ", why ? why : "unknown error"));
}

Result<void> Writer::add(const Entry& entry) {
  std::unique_ptr<struct archive_entry, void (*)(struct archive_entry*)> header(::archive_entry_new(),
                                                                                &::archive_entry_free);
  if (!header) return fail(Code::Exhausted, "no memory for an archive");
  ::archive_entry_copy_pathname(header.get(), entry.name.c_str());
  ::archive_entry_set_mode(header.get(), type_of(entry.kind) | (entry.mode & 07777));
  ::archive_entry_set_uid(header.get(), static_cast<int64_t>(entry.uid));
  ::archive_entry_set_gid(header.get(), static_cast<int64_t>(entry.gid));
  ::archive_entry_set_mtime(header.get(), entry.mtime, 0);
  ::archive_entry_set_size(header.get(), static_cast<int64_t>(entry.size));
  if (entry.kind == Kind::Symlink) ::archive_entry_copy_symlink(header.get(), entry.link.c_str());
  if (entry.kind == Kind::HardLink) ::archive_entry_copy_hardlink(header.get(), entry.link.c_str());
  return checked(::archive_write_header(state_->archive, header.get()));
}

Result<void> Writer::write(std::string_view data) {
  return checked(::archive_write_data(state_->archive, data.data(), data.size()));
}

Result<uint64_t> Writer::write_from(int fd, uint64_t size) {
  std::vector<char> piece(std::min<uint64_t>(size, kPiece));
  uint64_t total = 0;
  while (total < size) {
    ssize_t count = ::read(fd, piece.data(), std::min<uint64_t>(size - total, piece.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read a file for an archive");
    if (count == 0) break;
    COVE_TRY(write({piece.data(), static_cast<size_t>(count)}));
    total += static_cast<uint64_t>(count);
  }
  return total;
}

Result<void> Writer::finish() { return checked(::archive_write_close(state_->archive)); }

}  // namespace cove::tar
