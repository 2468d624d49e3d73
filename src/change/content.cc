#include "change/content.h"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::change {
namespace {

constexpr int kAttempts = 3;
constexpr size_t kPiece = 128 * 1024;

// O_NONBLOCK: opening must not block if the file was replaced by a FIFO.
Result<UniqueFd> open_file(int folder, const std::string& path) {
  Result<UniqueFd> file = open_below(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file) return file;
  int errnum = file.error().errnum();
  if (errnum == ENOTDIR || errnum == ELOOP || errnum == ENXIO || errnum == EXDEV)
    return fail(std::move(file).error().as(Code::NotFound));
  return file;
}

// Empty if its size has changed.
Result<std::optional<ReadFile>> read_once(int file, const EntryStat& found, const ReadOrder& order) {
  Digest sha256(HashKind::Sha256);
  std::optional<Digest> blob;
  if (order.blob) blob.emplace(*order.blob), blob->update(blob_header(found.stamp.size));
  ReadFile read = {found.mode, found.stamp, "", "", ""};
  std::vector<char> buffer(kPiece);
  uint64_t size = 0;
  while (true) {
    ssize_t count = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read");
    if (count == 0) break;
    std::string_view piece(buffer.data(), static_cast<size_t>(count));
    size += piece.size();
    if (size > found.stamp.size) return std::nullopt;
    sha256.update(piece);
    if (blob) blob->update(piece);
    if (order.keep) read.content += piece;
  }
  if (size != found.stamp.size) return std::nullopt;
  read.sha256 = sha256.hex();
  if (blob) read.blob = blob->hex();
  return read;
}

}  // namespace

Result<ReadFile> read_steadily(int folder, const std::string& path, const ReadOrder& order,
                               const std::function<void(const std::string&)>& after_reading) {
  UniqueFd file = COVE_TRY(open_file(folder, path));
  EntryStat found = COVE_TRY(stat_entry(file.get(), ""));
  if (found.kind != Kind::File) return fail(Code::NotFound, concat(path, " is not a regular file any more"));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<ReadFile> read = COVE_TRY_NOTE(path, read_once(file.get(), found, order));
    if (after_reading) after_reading(path);
    EntryStat again = COVE_TRY(stat_entry(file.get(), ""));
    if (read && again.stamp == found.stamp) return std::move(*read);
    found = again;
  }
  return fail(Code::Unavailable, concat(path, " changes while it is read"));
}

std::string read_small(int folder, const std::string& path, size_t most) {
  Result<UniqueFd> file = open_file(folder, path);
  if (!file) return "";
  Result<EntryStat> found = stat_entry(file->get(), "");
  if (!found || found->kind != Kind::File || found->stamp.size > most) return "";
  return sys::read_all(file->get(), most).value_or("");
}

}  // namespace cove::change
