#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/exchange.h"
#include "runtime/view.h"

// tar, by libarchive, to and from a caller; in pieces, whatever the size. Names are bytes: nothing is converted.
namespace cove::api {

// Packs entries into the body of an answer that has begun.
class TarWriter {
 public:
  static Result<TarWriter> create(http::Exchange& exchange);

  // A folder or a symlink (with its target), or a file whose data follows, exactly `size` bytes of it.
  Result<void> add(const FileEntry& entry, const std::string& name, const std::string& target, uint64_t size);
  // All of a file that `add` announced. One that has shrunk is filled up with zeros; what has been added is left out.
  Result<void> add_data(int fd, uint64_t size);
  Result<void> finish();

 private:
  struct Free {
    void operator()(struct archive* archive) const { ::archive_write_free(archive); }
  };
  explicit TarWriter(struct archive* archive) : archive_(archive) {}
  Result<void> checked(ssize_t status, const char* what);

  std::unique_ptr<struct archive, Free> archive_;
};

// Unpacks the body of a request. Errors: Invalid where it is no tar; those of the body as they are.
class TarReader {
 public:
  static Result<TarReader> create(http::Exchange& exchange);

  struct Entry {
    std::string name;
    std::string link;  // of a symlink: its target; of a hard link: the name of the entry it is the same as
    enum class Kind { File, Folder, Symlink, HardLink, Other } kind = Kind::Other;
    unsigned mode = 0644;
  };
  // The next one; nothing at the end.
  Result<std::optional<Entry>> next();
  // The data of the entry into a descriptor; how many bytes.
  Result<uint64_t> copy_to(int fd);

 private:
  struct Free {
    void operator()(struct archive* archive) const { ::archive_read_free(archive); }
  };
  struct Source;
  struct FreeSource {
    void operator()(Source* source) const;
  };
  TarReader(std::unique_ptr<Source, FreeSource> source, struct archive* archive)
      : source_(std::move(source)), archive_(archive) {}
  static ssize_t read(struct archive* archive, void* source, const void** buffer);
  Error broken();

  std::unique_ptr<Source, FreeSource> source_;  // outlives the archive, which reads from it
  std::unique_ptr<struct archive, Free> archive_;
};

// An entry's name as a path below the folder that it is unpacked into: without leading slashes and dots; empty for the
// folder itself. Invalid where it would lead out of it.
Result<std::string> inner_path(std::string_view name);

}  // namespace cove::api
