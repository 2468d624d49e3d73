#include "image/blob_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/text.h"
#include "sys/file.h"
#include "unpack/sha256.h"

namespace cove {
namespace {

constexpr size_t kPiece = 1 << 20;

std::string digest_text(std::string_view text) {
  unpack::Sha256 digest;
  digest.update(text);
  return concat("sha256:", digest.hex());
}

// Hashes the existing content of a file and leaves the position at its end.
Result<uint64_t> take_in(int file, unpack::Sha256& digest) {
  std::string piece(kPiece, '\0');
  uint64_t size = 0;
  while (true) {
    ssize_t count = ::pread(file, piece.data(), piece.size(), static_cast<off_t>(size));
    if (count < 0) return fail_errno("read a blob");
    if (count == 0) return size;
    digest.update(std::string_view(piece).substr(0, static_cast<size_t>(count)));
    size += static_cast<uint64_t>(count);
  }
}

}  // namespace

Result<std::string> digest_file(int file, uint64_t& size) {
  unpack::Sha256 digest;
  size = COVE_TRY(take_in(file, digest));
  return concat("sha256:", digest.hex());
}

Result<BlobFolder> BlobFolder::open(const std::string& folder) {
  for (const char* part : {"/blobs", "/partial"}) COVE_TRY(sys::make_folders(folder + part, 0700));
  if (sys::exists(folder + "/work")) COVE_TRY(sys::remove_tree(folder + "/work"));
  COVE_TRY(sys::make_folders(folder + "/work", 0700));
  BlobFolder blobs(folder);
  for (const std::string& name : COVE_TRY(sys::list_folder(folder + "/blobs")))
    if (!is_hex_key(name)) ::unlink(concat(folder, "/blobs/", name).c_str());
  return blobs;
}

Result<void> BlobFolder::keep(const std::string& digest, std::string_view text) const {
  if (digest_text(text) != digest)
    return fail(Code::Invalid, concat("the blob ", digest, " does not match its digest"));
  std::string path = concat(folder_, "/blobs/", digest_hex(digest));
  if (sys::exists(path)) return {};
  std::string half_made = concat(folder_, "/blobs/tmp-", make_id());
  UniqueFd file = COVE_TRY(sys::open(half_made, O_WRONLY | O_CREAT | O_EXCL, 0600));
  Result<void> written = sys::write_all(file.get(), text);
  if (written && ::fdatasync(file.get()) < 0) written = fail_errno(concat("fdatasync ", half_made));
  if (written) written = sys::rename(half_made, path);
  if (!written) ::unlink(half_made.c_str());
  crash_point("image.blob.stored");
  return written;
}

Result<std::string> BlobFolder::read(const std::string& digest) const {
  std::string text = COVE_TRY(sys::read_file(concat(folder_, "/blobs/", digest_hex(digest)), kLargestManifest));
  if (digest_text(text) != digest) return fail(Code::Internal, concat("the stored blob ", digest, " is damaged"));
  return text;
}

void BlobFolder::forget(const std::string& digest) const {
  ::unlink(concat(folder_, "/blobs/", digest_hex(digest)).c_str());
}

Result<std::vector<std::string>> BlobFolder::kept() const {
  std::vector<std::string> digests;
  for (const std::string& name : COVE_TRY(sys::list_folder(folder_ + "/blobs")))
    if (is_hex_key(name)) digests.push_back(concat("sha256:", name));
  return digests;
}

Result<UniqueFd> BlobFolder::fetch(Registry& registry, const Descriptor& descriptor, ImageProgress& progress,
                                   size_t index) const {
  std::string path = concat(folder_, "/partial/", digest_hex(descriptor.digest));
  UniqueFd file = COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  for (bool resumed : {true, false}) {
    unpack::Sha256 digest;
    if (!resumed && ::ftruncate(file.get(), 0) < 0) return fail_errno(concat("truncate ", path));
    uint64_t there = COVE_TRY(take_in(file.get(), digest));
    if (there > descriptor.size) continue;
    progress.restart(index, there);
    uint64_t at = there;
    BlobSink sink;
    sink.take = [&](std::string_view piece) -> Result<void> {
      digest.update(piece);
      progress.add(index, piece.size());
      while (!piece.empty()) {
        ssize_t written = ::pwrite(file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
        if (written < 0) return fail_errno(concat("write ", path));
        at += static_cast<uint64_t>(written);
        piece.remove_prefix(static_cast<size_t>(written));
      }
      return {};
    };
    sink.restart = [&]() -> Result<void> {
      at = 0;
      digest = unpack::Sha256();
      progress.restart(index, 0);
      if (::ftruncate(file.get(), 0) < 0) return fail_errno(concat("truncate ", path));
      return {};
    };
    Result<void> fetched = registry.blob(descriptor, there, sink);
    if (!fetched) {
      // The disk is full, so the partial file is removed.
      if (fetched.error().code() == Code::Exhausted) ::unlink(path.c_str());
      return std::unexpected(fetched.error());
    }
    if (concat("sha256:", digest.hex()) == descriptor.digest) return file;
    if (there == 0) break;
  }
  ::unlink(path.c_str());
  return fail(Code::Invalid, concat("the layer ", descriptor.digest, " does not match its digest"));
}

void BlobFolder::drop(const std::string& digest) const {
  ::unlink(concat(folder_, "/partial/", digest_hex(digest)).c_str());
}

void BlobFolder::drop_all_but(const std::vector<std::string>& digests) const {
  Result<std::vector<std::string>> names = sys::list_folder(folder_ + "/partial");
  if (!names) return;
  for (const std::string& name : *names)
    if (std::ranges::find(digests, concat("sha256:", name)) == digests.end())
      ::unlink(concat(folder_, "/partial/", name).c_str());
}

Result<UniqueFd> BlobFolder::scratch_file() const {
  std::string path = concat(folder_, "/work/", make_id());
  UniqueFd file = COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  ::unlink(path.c_str());
  return file;
}

}  // namespace cove
