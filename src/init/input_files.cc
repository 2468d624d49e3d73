// Input that is complete but does not fit into a pipe: process 1 feeds it, so that the caller need not stay, and the
// program still reads from a pipe.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "init/supervisor.h"

namespace cove::init {
namespace {

constexpr size_t kPortion = 256 * 1024;

}  // namespace

// The file replaces the pipe's write end.
bool Supervisor::prepare_feeding(Program& program, UniqueFd& input) const {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return false;
  program.input_file = std::move(input);
  program.input_pipe.reset(ends[1]);
  input.reset(ends[0]);
  return ::fcntl(program.input_pipe.get(), F_SETFL, O_NONBLOCK) == 0 && ::fchmod(input.get(), 0666) == 0;
}

void Supervisor::add_unfed(std::vector<pollfd>& polled) const {
  for (const auto& program : programs_)
    if (program->input_pipe) polled.push_back({program->input_pipe.get(), POLLOUT, 0});
}

void Supervisor::feed(const std::vector<pollfd>& polled) {
  for (const auto& program : programs_) {
    if (!program->input_pipe) continue;
    bool ready = std::any_of(polled.begin(), polled.end(), [&](const pollfd& each) {
      return each.fd == program->input_pipe.get() && each.revents != 0;
    });
    if (!ready) continue;
    ssize_t count = ::sendfile(program->input_pipe.get(), program->input_file.get(), nullptr, kPortion);
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    // All input was read, or the reader has closed the pipe.
    program->input_pipe.reset();
    program->input_file.reset();
  }
}

}  // namespace cove::init
