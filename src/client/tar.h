#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

// Tar archives, one entry after the other: POSIX (ustar and pax), and GNU's long names when reading.
namespace cove::client {

enum class TarKind { File, Folder, Symlink, HardLink, Other };

struct TarEntry {
  std::string name;
  TarKind kind = TarKind::File;
  uint32_t mode = 0644;
  uint64_t size = 0;  // of a file's content
  int64_t mtime = 0;
  std::string target;  // of a link
};

inline constexpr size_t kTarBlock = 512;

// The blocks that stand before the content.
std::string encode_tar_header(const TarEntry& entry);
// What stands behind a content of that size, up to the next block.
std::string tar_padding(uint64_t size);
// What ends an archive.
std::string tar_end();

// Reads an archive that somebody else may have made. What is no tar is Invalid.
class TarReader {
 public:
  // Up to `size` bytes into `data`; 0 at the end.
  using Source = std::function<Result<size_t>(char* data, size_t size)>;
  explicit TarReader(Source source) : source_(std::move(source)) {}

  // The next entry; what is left of the content before is passed over. Nothing at the end.
  Result<std::optional<TarEntry>> next();
  // Of the entry's content; 0 at its end.
  Result<size_t> read(char* data, size_t size);

 private:
  struct Extension {
    std::string name;
    std::string target;
    std::optional<uint64_t> size;
  };
  Result<bool> read_block(std::string& block);
  Result<void> skip_rest();
  Result<std::string> read_text();
  Result<void> extend(char type, Extension& extension);

  Source source_;
  uint64_t left_ = 0;
  uint64_t padding_ = 0;
};

}  // namespace cove::client
