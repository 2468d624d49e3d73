#include "init/request.h"

#include <sys/stat.h>
#include <unistd.h>

namespace cove::init {
namespace {

// Reads a whole regular file, if it is not larger than a request may be. The sender can still change it, so it is
// copied before it is parsed.
bool read_file(int fd, std::string& data) {
  struct stat info;
  if (::fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size < 0) return false;
  if (static_cast<size_t>(info.st_size) > wire::kMaxRequest) return false;
  data.resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < data.size()) {
    ssize_t count = ::pread(fd, data.data() + done, data.size() - done, static_cast<off_t>(done));
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

bool read_request(wire::Reader& in, bool in_memfd, std::vector<UniqueFd>& fds, wire::ExecRequest& request) {
  if (!in_memfd) return request.decode(in);
  std::string data;
  if (fds.empty() || !read_file(fds.front().get(), data)) return false;
  fds.erase(fds.begin());
  wire::Reader reader(data);
  return request.decode(reader);
}

}  // namespace cove::init
