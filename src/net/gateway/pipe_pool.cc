#include "net/gateway/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

namespace cove::net {

std::optional<Pipe> PipePool::take() {
  if (!kept_.empty()) {
    Pipe pipe = std::move(kept_.back());
    kept_.pop_back();
    return pipe;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return std::nullopt;
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1]), 0};
  int size = large_ < kMostLarge ? ::fcntl(ends[1], F_SETPIPE_SZ, int{kLarge}) : -1;
  if (size < 0) size = ::fcntl(ends[1], F_GETPIPE_SZ);
  if (size <= 0) return std::nullopt;
  pipe.room = static_cast<size_t>(size);
  if (pipe.room >= kLarge) ++large_;
  return pipe;
}

void PipePool::give_back(Pipe pipe) {
  if (pipe.room >= kLarge && kept_.size() < kMostKept) return kept_.push_back(std::move(pipe));
  lose(std::move(pipe));
}

void PipePool::lose(Pipe pipe) {
  if (pipe.room >= kLarge) --large_;
}

}  // namespace cove::net
