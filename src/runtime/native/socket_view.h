#pragma once

#include "runtime/view.h"

namespace cove::native {

// A View served by a process of the sandbox over a socket. Its replies are untrusted.
class SocketView : public View {
 public:
  explicit SocketView(UniqueFd socket) : socket_(std::move(socket)) {}

  Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override;
  Result<FileEntry> stat(const std::string& path, Links links) override;
  Result<std::vector<FileEntry>> list(const std::string& path) override;
  Result<void> mkdir(const std::string& path, mode_t mode, Depth depth) override;
  Result<void> remove(const std::string& path, Depth depth) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> chmod(const std::string& path, mode_t mode) override;
  Result<std::string> readlink(const std::string& path) override;
  Result<void> symlink(const std::string& target, const std::string& path) override;
  Result<int> watch(const std::string& path, uint32_t mask) override;
  Result<void> unwatch(int watched) override;
  int events_fd() const override { return inotify_.get(); }
  Result<std::vector<FileEntry>> glob(const std::string& pattern, const std::string& folder) override;

 private:
  struct Answer {
    std::string data;  // after the status
    std::vector<UniqueFd> fds;
    std::vector<FileEntry> entries;
  };
  Result<Answer> ask(const wire::Writer& request, const std::string& what);

  UniqueFd socket_;
  UniqueFd inotify_;
};

}  // namespace cove::native
