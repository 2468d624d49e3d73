#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "tar/entry.h"

struct archive;

namespace cove::tar {

// Reads an archive that anyone may have made, by libarchive: ustar, pax and GNU's, not compressed. What is no tar, or
// has no end, is Invalid; errors of the source come back as they are.
class Reader {
 public:
  // Some bytes; 0 at the end.
  using Source = std::function<Result<size_t>(std::span<char>)>;
  // Told of data as it is written.
  using Progress = std::function<void(uint64_t bytes)>;
  static Result<Reader> create(Source source);

  // The next entry; what is left of the data before it is passed over. Nothing at the end.
  Result<std::optional<Entry>> next();
  // The entry's data into a new file; how many bytes. Holes of a sparse file stay holes. An error with an errno is the
  // file's.
  Result<uint64_t> copy_to(int fd, const Progress& progress = {});

 private:
  struct State;
  struct Free {
    void operator()(State* state) const;
  };
  explicit Reader(State* state) : state_(state) {}
  static ssize_t read(struct archive* archive, void* state, const void** buffer);
  Error broken() const;

  std::unique_ptr<State, Free> state_;
};

}  // namespace cove::tar
