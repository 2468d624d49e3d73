#pragma once

#include "runtime/fake/fake_program.h"
#include "runtime/view.h"

namespace cove::fake {

// Plain files in folders, and everybody's; what else there is in real file systems is Unsupported.
class FakeView : public View {
 public:
  FakeView(FakeWorld& world, std::shared_ptr<FakePlace> place) : world_(world), place_(std::move(place)) {}
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
  int events_fd() const override { return -1; }
  Result<std::vector<FileEntry>> glob(const std::string& pattern, const std::string& folder) override;

 private:
  Result<FileEntry> entry_of(const std::string& path) const;

  FakeWorld& world_;
  const std::shared_ptr<FakePlace> place_;
};

}  // namespace cove::fake
