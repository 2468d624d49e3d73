#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "change/tree_scan.h"

namespace cove::change {

// What to read of a file.
struct ReadOrder {
  std::optional<HashKind> blob;  // its id as git has it
  bool keep = false;             // its content
};

struct ReadFile {
  uint32_t mode = 0;
  Stamp stamp;
  std::string sha256;
  std::string blob;
  std::string content;
};

// Reads a regular file that does not change meanwhile. Denied if this user may not read it, NotFound if it is gone or
// not a regular file any more, Unavailable if it changed every time.
Result<ReadFile> read_steadily(int folder, const std::string& path, const ReadOrder& order,
                               const std::function<void(const std::string&)>& after_reading);

// A small file of git; empty if it cannot be read.
std::string read_small(int folder, const std::string& path, size_t most);

}  // namespace cove::change
