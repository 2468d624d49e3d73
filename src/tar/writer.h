#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "tar/entry.h"

struct archive;

namespace cove::tar {

// Writes an archive, by libarchive, in pieces, whatever its size. One that is not finished has no end, so that its
// reader sees that it is not whole.
class Writer {
 public:
  using Sink = std::function<Result<void>(std::string_view)>;
  static Result<Writer> create(Sink sink);

  // A folder, a symlink, or a file, of which exactly `size` bytes of data follow. What fails is the sink's error.
  Result<void> add(const Entry& entry);
  // Data of the file that was added last. What is missing of it when the next entry is added, or at the end, is zeros.
  Result<void> write(std::string_view data);
  // The same from a descriptor, up to `size` bytes or its end; how many.
  Result<uint64_t> write_from(int fd, uint64_t size);
  Result<void> finish();

 private:
  struct State;
  struct Free {
    void operator()(State* state) const;
  };
  explicit Writer(State* state) : state_(state) {}
  Result<void> checked(ssize_t status);
  static ssize_t write_out(struct archive* archive, void* state, const void* data, size_t size);

  std::unique_ptr<State, Free> state_;
};

}  // namespace cove::tar
